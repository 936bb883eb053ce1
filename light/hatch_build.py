"""Fill the wheel with the package, without the word vectors for training and the model that comes with it.

An exported model holds the vectors that it needs, and the model needs PyTorch. Its `config.json` stays, so that
`predict sentiment-en` can say so.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LEFT_OUT = {"__pycache__", "english", "sentiment-en"}


class WithoutWeights(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (of every hook)
        source = Path(self.root).parent / "src"
        for file in sorted((source / "glassformer").rglob("*")):
            parts = {*file.relative_to(source).parts}
            if file.is_file() and (not LEFT_OUT & parts or {"sentiment-en", "config.json"} <= parts):
                build_data["force_include"][str(file)] = str(file.relative_to(source))
