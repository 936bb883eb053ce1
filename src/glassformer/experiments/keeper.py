"""Keep finished runs, so that a run that was done before is read and not repeated.

A run's file is named by a digest of everything that decides its result: the caller's settings and data, and the version
of the code. Another version of the code makes another run, and the earlier file stays.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import TypeAdapter, ValidationError

from glassformer.data.files import write_aside
from glassformer.errors import GlassformerError
from glassformer.evaluation.record import Machine, Record
from glassformer.training.unfinished import versions

Run = TypeVar("Run")


class Experiment(Record):
    """How an experiment was measured: where, with what, by which command and when."""

    device: str
    threads: int
    versions: dict[str, str]
    machine: Machine
    command: str
    created: str


def measured_here(device: str, command: str) -> dict[str, Any]:
    """Return the fields of an experiment that ends now, on this machine."""
    return {
        "device": device,
        "threads": torch.get_num_threads(),
        "versions": versions() | {"digest of the code": source_digest(PACKAGE)[:12]},
        "machine": Machine.here(),
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


PACKAGE = Path(__file__).parent.parent


def run_key(decided_by: Mapping[str, Any]) -> str:
    """Return the digest of a run.

    Args:
        decided_by: what the caller knows to decide the result, as JSON: recipe, fingerprints of the data, device.
    """
    identity = json.dumps({"code": code_version(), "run": decided_by}, sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


@cache
def code_version() -> str:
    """Return a digest of glassformer's source files and of the versions of the libraries that compute."""
    libraries = versions() | {name: version(name) for name in ("tokenizers", "scikit-learn", "scipy")}
    return hashlib.sha256(json.dumps([source_digest(PACKAGE), libraries]).encode()).hexdigest()


def source_digest(folder: Path) -> str:
    """Return a digest of every Python file below a folder, by path and content."""
    files = {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.py"))}
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()


def read_kept(file: Path, kind: type[Run]) -> Run | None:
    """Read the finished run in a file, or return None if there is no such file.

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
        raise GlassformerError(f"{file} is damaged; remove it, and the same command repeats that run") from error


def keep(file: Path, run: object) -> None:
    """Write a finished run. Its folder is created if needed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_aside(file, TypeAdapter(type(run)).dump_json(run, indent=2).decode() + "\n")
