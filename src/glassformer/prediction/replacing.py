"""Replace the files of a model in its folder by those of a new one: all of them or none.

A process that is killed meanwhile leaves a hidden folder. The next one that opens the model folder moves the files of
the earlier model back from there.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from glassformer.data.files import ASIDE, aside_of, left_by_killed, put_back_folder
from glassformer.data.json_files import read_json
from glassformer.data.locks import only_writer
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.folder_names import EVALUATION_FOLDER

_BEFORE, _NEW = "before", "new.json"


def place_aside(folder: Path) -> Path:
    """Return the hidden folder in a model folder where this process writes the files of a new model."""
    return aside_of(folder / "model")


def put_in_place(aside: Path, folder: Path, old: Sequence[str]) -> None:
    """Move the new files to the folder, and those of the earlier model away, or none if that is stopped.

    config.json comes last: without it, nobody reads a folder with files of two models.

    Args:
        old: files and folders of the earlier model. They go in this order, and then those that the new ones replace.
    """
    new, before = written(aside), aside / _BEFORE
    (before / EVALUATION_FOLDER).mkdir(parents=True)
    try:
        (aside / _NEW).write_text(json.dumps(new), encoding="utf-8")
        for name in dict.fromkeys((*old, *new)):
            if (folder / name).exists():
                (folder / name).replace(before / name)
        for name in new:
            (aside / name).replace(folder / name)
        (aside / _NEW).unlink()
    except BaseException:
        _take_back(aside, folder)
        raise


def written(place: Path) -> list[str]:
    """Return the names of the files, `config.json` last."""
    return sorted((path.name for path in place.iterdir()), key=lambda name: name == "config.json")


def remove_aside(aside: Path) -> None:
    """Remove the hidden folder, unless it holds files of an earlier model that could not be moved back yet."""
    if not (aside / _NEW).exists():
        shutil.rmtree(aside, ignore_errors=True)


def put_back(folder: Path) -> None:
    """Put back the model that a process was replacing when it was killed, as far as this process may."""
    with suppress(OSError):
        put_back_folder(folder)
    if any(_left(folder)):
        with suppress(OSError, UsageError), only_writer(folder):  # another process puts it back, or writes a model
            put_back_alone(folder)


def put_back_alone(folder: Path) -> None:
    """Do the same where no other process writes. What a killed process has written of a new model is removed."""
    for aside in _left(folder):
        with suppress(OSError):  # of another user, for example: it does not keep a new model from being written
            _take_back(aside, folder)
            remove_aside(aside)


def _left(folder: Path) -> Iterator[Path]:
    return left_by_killed(folder / "model", ASIDE)


def _take_back(aside: Path, folder: Path) -> None:
    """Move the new files away and those of the earlier model back, unless a whole model is in place since.

    What was moved already is left where it is. config.json comes last.
    """
    before, config = aside / _BEFORE, "config.json"
    if not (aside / _NEW).exists():
        return  # no file was moved yet, or all were
    if aside.is_symlink() or before.is_symlink():
        return  # none of ours: a folder from a stranger may lead elsewhere
    try:
        new = [Path(str(name)) for name in read_json(aside / _NEW)]
    except (GlassformerError, TypeError):  # it was cut short: no file was moved
        new = []
    moved = [name for name in reversed(new) if not (aside / name).exists()]
    if (folder / config).exists() and (moved or (before / config).exists()):
        moved, back = [], []  # the new model, or a later one of a process that could not know of this place
    else:
        links = (folder / EVALUATION_FOLDER).is_symlink() or (before / EVALUATION_FOLDER).is_symlink()
        back = [*(() if links else before.glob(f"{EVALUATION_FOLDER}/*")), *map(before.joinpath, written(before))]
    for name in moved:
        if name.parent == Path() and (folder / name).exists():
            (folder / name).replace(aside / name)
    for place in back:
        if place.name != EVALUATION_FOLDER and not (target := folder / place.relative_to(before)).exists():
            place.replace(target)
    (aside / _NEW).unlink(missing_ok=True)
