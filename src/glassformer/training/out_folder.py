"""Whether a run may write into a folder. Without PyTorch, so that a slip is answered at once."""

from pathlib import Path

from glassformer.data.files import ASIDE
from glassformer.data.locks import LOCK_FILE, check_free
from glassformer.errors import UsageError
from glassformer.prediction.folder_format import is_model_folder, is_unfinished


def check_flags(*, resume: bool, overwrite: bool) -> None:
    """Raise `UsageError` if a run is to be both continued and replaced."""
    if resume and overwrite:
        raise UsageError("`resume=True` and `overwrite=True` contradict each other; give one of them")


def prepare_out(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse to lose an earlier run, or files that are not ours.

    Raises:
        UsageError: another process writes there; `resume` and `overwrite` are both set; the folder holds a model or an
            unfinished run, and neither of them is set; or it holds only other files, which `overwrite` never replaces.
    """
    check_free(out)
    refuse_loss(out, resume=resume, overwrite=overwrite)


def refuse_loss(out: Path, *, resume: bool, overwrite: bool) -> None:
    """Raise `UsageError` if a run would replace what must stay, or there is nothing to continue."""
    check_flags(resume=resume, overwrite=overwrite)
    unfinished, finished = is_unfinished(out), is_model_folder(out)
    if resume and not unfinished:
        state = "is finished" if finished else "holds no unfinished run"
        instead = "name another folder, or `overwrite=True` to train again" if finished else "leave out `resume=True`"
        raise UsageError(f"`resume=True`: {out} {state}; {instead}")
    if resume or (overwrite and (unfinished or finished)):
        return
    if unfinished:
        raise UsageError(f"{out} holds an unfinished run; `resume=True` continues it, `overwrite=True` starts again")
    if finished:
        raise UsageError(f"{out} already holds a model; choose another folder, or `overwrite=True` to replace it")
    if any(not path.is_dir() and path != out / LOCK_FILE and ASIDE not in path.name for path in out.rglob("*")):
        what = "a folder with other files in it"
        if overwrite:
            what += ", neither a model of ours nor an unfinished run, and `overwrite=True` replaces nothing else"
        raise UsageError(f"{out} is {what}; choose a folder that is new or empty")
