"""Which kind of model a folder holds. Without PyTorch, so that an exported model is recognised where it is missing."""

import difflib
import re
from pathlib import Path

from glassformer.data.files import as_path
from glassformer.data.json_files import read_json
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.model_config import HUB
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER, RUN_FILE, STATE_FILE
from glassformer.prediction.replacing import put_back

FORMAT_VERSION = OLDEST_VERSION = 8
"""The format version that is written, and the first one that is read: that of glassformer 0.1.0."""
NUMBER_FORMAT = "glassformer-number"
"""The format of a model that answers with a number."""
FORMATS = {"labels": "glassformer-classifier", "number": NUMBER_FORMAT}
"""The formats of models that answer, by their targets."""
LANGUAGE_FORMAT, REWARD_FORMAT = "glassformer-language-model", "glassformer-reward-model"
FILES = ("config.json", "tokenizer.json", "model.safetensors")
"""What each model folder holds."""
EXPORTED_NUMBER_FORMAT = "glassformer-onnx-number"
"""The format of such a model that was exported."""
_BEGINNING = 65_536  # bytes of a damaged config.json that are searched for its format


def format_of(folder: Path) -> str | None:
    """Return the format that `config.json` names, or None. The rest of the file may be damaged."""
    put_back(folder)
    file = folder / "config.json"
    if not file.is_file():
        return None
    try:
        raw = read_json(file)
    except GlassformerError:
        with file.open("rb") as opened:
            named = re.search(rb'"format"\s*:\s*"([^"]*)"', opened.read(_BEGINNING))
        return None if named is None else named[1].decode(errors="replace")
    return str(raw.get("format")) if isinstance(raw, dict) else None


def is_model_folder(folder: Path) -> bool:
    """Whether the folder holds a glassformer model of any kind."""
    return format_of(folder) in {*FORMATS.values(), LANGUAGE_FORMAT, REWARD_FORMAT}


def is_unfinished(folder: Path) -> bool:
    """Whether the folder holds a run that `resume=True` continues."""
    return any((folder / CHECKPOINT_FOLDER / name).is_file() for name in (RUN_FILE, STATE_FILE))


def check_is_folder(folder: Path, *, command: str) -> None:
    """Raise `UsageError` if there is no such folder."""
    put_back(folder)
    if folder.is_file():
        raise UsageError(f"{folder} is a file, and a model folder is needed here (`glassformer {command}` makes one)")
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such model folder{_near_names(folder)}")


def check_files(folder: Path, *, command: str) -> None:
    """Raise an error if the folder lacks a file that each model folder holds.

    Raises:
        UsageError: it is no model folder, or not yet.
        GlassformerError: a file of it is missing.
    """
    present = [name for name in FILES if (folder / name).exists()]
    if not present and is_unfinished(folder):
        raise UsageError(
            f"{folder} is not a model folder yet: it holds an unfinished run; to continue it, repeat its command with "
            "`resume=True`"
        )
    if not present:
        raise UsageError(f"{folder} is not a model folder: it holds no config.json (`glassformer {command}` makes one)")
    if missing := [name for name in FILES if name not in present]:
        raise GlassformerError(
            f"{folder}: {', '.join(missing)} is missing from the model folder; copy the whole folder again"
        )


def check_weights(init: str) -> None:
    """Raise an error if there is no folder of weights to start from. A checkpoint is not looked for."""
    if init.startswith(HUB):
        return
    put_back(as_path(init))
    if not Path(init).is_dir():
        raise UsageError(
            f"`init={init!r}`: no such model folder (a checkpoint of another library is named {HUB}{init})"
        )
    if not (Path(init) / "config.json").exists():
        check_files(Path(init), command="pretrain")


def _near_names(folder: Path) -> str:
    """Return a hint at folders beside this one whose names are spelled alike, or nothing."""
    try:
        beside = [other.name for other in folder.parent.iterdir() if other.is_dir()]
    except OSError:
        return f" (the folder {folder.parent} does not exist)" if not folder.parent.exists() else ""
    near = difflib.get_close_matches(folder.name, beside)
    return f"; there is {' and '.join(str(folder.with_name(name)) for name in near)}" if near else ""
