"""Files that are complete or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A hidden name beside `path` to write to; renamed to `path` in the end, or removed when something failed."""
    aside = path.with_name(f".{path.name}.writing-{os.getpid()}")
    try:
        yield aside
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
