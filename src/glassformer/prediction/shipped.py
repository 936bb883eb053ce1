"""Models that come with the package, by name."""

from pathlib import Path

from glassformer.data.files import as_path

SHIPPED = Path(__file__).parent.parent / "shipped"
"""The folder that holds them, each in a model folder of its own."""


def shipped_names() -> list[str]:
    """Return the names of the models that come with the package."""
    return sorted(folder.name for folder in SHIPPED.iterdir() if (folder / "config.json").is_file())


def folder_of(model: str | Path) -> Path:
    """Return the folder of a model that comes with the package, or `model` as a path.

    A file or folder of the user's with the same name goes first.
    """
    path = as_path(model)
    return SHIPPED / path if str(model) in shipped_names() and not path.exists() else path


def shown(folder: Path) -> str:
    """Return how a message names a model: by its name if it comes with the package, otherwise by its folder."""
    return folder.name if is_shipped(folder) else str(folder)


def is_shipped(folder: Path) -> bool:
    """Whether this folder belongs to the package: nothing may be written into it."""
    return folder.parent == SHIPPED
