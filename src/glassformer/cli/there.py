"""Whether what a command reads is there. It is asked before the libraries load, so a slip is answered at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glassformer.prediction.shipped import folder_of


def model_folder(model: Path) -> Path:
    """Return the folder of a model that the user named. Raises `UsageError` if there is none."""
    folder = folder_of(model)
    if _is_missing(folder):
        from glassformer.prediction.folder_format import check_is_folder

        check_is_folder(folder, command="train")
    return folder


def model_folders(models: list[Path]) -> list[Path]:
    return list(map(model_folder, models))


def table(source: Any) -> Any:
    """Return what names a table or a known data set. Raises `UsageError` if it is a file that is not there.

    What an address names is not fetched yet.
    """
    if source is not None and "://" not in str(source) and _is_missing(Path(source)):
        from glassformer.data.known import check_source

        check_source(str(source))
    return source


def tables(sources: list[str] | None) -> list[str] | None:
    return None if sources is None else [table(source) for source in sources]


def _is_missing(path: Path) -> bool:
    try:
        return not path.exists()
    except OSError:  # too long for a path; whatever reads it says so
        return False
