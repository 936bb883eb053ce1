"""The one keeper of finished runs: what was run before is read, not run again.

A run is kept in a file that is named by a digest of all that decides it: the caller's settings and data, and the
version of the code. A run by other code is another run; its file stays, and nobody has to empty a folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from glassformer.data.files import written_aside
from glassformer.errors import GlassformerError
from glassformer.training.unfinished import versions

Run = TypeVar("Run")
PACKAGE = Path(__file__).parent.parent


def run_key(decided_by: Mapping[str, Any]) -> str:
    """The digest of a run.

    Args:
        decided_by: the caller's part of what decides the run, as JSON: recipe, fingerprints of the data, device.
    """
    identity = json.dumps({"code": code_version(), "run": decided_by}, sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


@cache
def code_version() -> str:
    """A digest of glassformer's own source files and of the versions of the libraries that compute."""
    libraries = versions() | {name: version(name) for name in ("tokenizers", "scikit-learn", "scipy")}
    return hashlib.sha256(json.dumps([source_digest(PACKAGE), libraries]).encode()).hexdigest()


def source_digest(folder: Path) -> str:
    """A digest of every Python file below a folder, by path and content."""
    files = {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.py"))}
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()


def read_kept(file: Path, kind: type[Run]) -> Run | None:
    """The finished run in a file, or None where there is none.

    Args:
        kind: a record, or any type that pydantic reads.

    Raises:
        GlassformerError: the file is damaged.
    """
    if not file.is_file():
        return None
    try:
        return TypeAdapter(kind).validate_json(file.read_bytes())
    except (ValidationError, UnicodeDecodeError) as error:
        raise GlassformerError(f"{file} is damaged; remove it, and the same command makes that run anew") from error


def keep(file: Path, run: object) -> None:
    """Write a finished run. Its folder is made where there is none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with written_aside(file) as aside:
        aside.write_bytes(TypeAdapter(type(run)).dump_json(run, indent=2) + b"\n")
