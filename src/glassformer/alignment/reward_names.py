"""What names a reward. Without PyTorch, so that a slip is answered at once."""

from pathlib import Path

from glassformer.errors import UsageError
from glassformer.prediction.folder_format import check_is_folder
from glassformer.prediction.shipped import folder_of


def check_reward(name: str) -> tuple[str, str]:
    """Return the place of a reward that is no reward model, and what of it: a label or a function.

    Raises:
        UsageError: the name has no such two parts, or there is no such place.
    """
    place, what = apart(name)
    if not what:
        missing = "" if Path(place).exists() else f"there is no {place}; "
        raise UsageError(
            f"`reward={name!r}`: {missing}name the folder of a reward model, a classifier's as FOLDER:LABEL, or a "
            "function as FILE.py:FUNCTION"
        )
    if place.endswith(".py"):
        if not Path(place).is_file():
            raise UsageError(f"`reward={name!r}`: there is no file {place}")
    elif not Path(place).is_file():
        check_is_folder(folder_of(Path(place)), command="train")
    return place, what


def apart(name: str) -> tuple[str, str]:
    """Split a name at the first colon after an existing path, or else at the last one. Labels may hold colons."""
    colons = [at for at, character in enumerate(name) if character == ":"] or [len(name)]
    at = next((at for at in colons if Path(name[:at]).exists()), colons[-1])
    return name[:at], name[at + 1 :]
