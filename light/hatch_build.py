"""Fill the wheel with the package, without the word vectors for training: an exported model holds those it needs."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WithoutVectors(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (of every hook)
        source = Path(self.root).parent / "src"
        for file in sorted((source / "glassformer").rglob("*")):
            if file.is_file() and not {"__pycache__", "english"} & {*file.relative_to(source).parts}:
                build_data["force_include"][str(file)] = str(file.relative_to(source))
