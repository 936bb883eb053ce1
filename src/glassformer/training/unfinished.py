"""The work folder of an unfinished run: its identity, its vocabulary, its encoded texts, answers and checkpoint."""

import json
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import torch
from pydantic import BaseModel, ValidationError

import glassformer
from glassformer.data.arrays import FloatArray, mapping_in
from glassformer.data.checksums import add_sum, is_changed, load_arrays, read_sums, save_arrays, sha256_of
from glassformer.data.files import check_no_links, is_no_room, why_not_written, write_aside, written_aside
from glassformer.data.inputs import MARK, SEPARATOR, Inputs
from glassformer.data.locks import only_writer
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.data.wording import listed
from glassformer.errors import GlassformerError, UsageError, brief_value
from glassformer.models.model_config import HUB, DesignConfig
from glassformer.prediction.folder_format import is_model_folder
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER, RUN_FILE, STATE_FILE
from glassformer.training.checkpoint import LONGEST_RUN, CheckpointError
from glassformer.training.initial_weights import checkpoint_folder
from glassformer.training.loop import InterruptedTraining, NotANumberError, Trainer
from glassformer.training.out_folder import refuse_loss
from glassformer.training.processes import ALONE, LostProcessError, Processes, wait_for_all

Made = TypeVar("Made")
PRETRAINED_FOLDER = "pretraining"
"""The model folder or the unfinished run of the first stage, in the work folder (see `pretrain.py`)."""
_HELD_OUT_FILE = "held-out.safetensors"
_CHANGES_SHOWN = 5
_FINGERPRINTS = {
    "train": "the training rows",
    "validation": "the validation rows",
    "groups": "the groups of the training rows",
    "weights": "the weights of the training rows",
    "texts": "the training texts",
    "unlabelled": "the unlabelled texts",
    "labelled": "the labelled table",
    "teacher": "the teacher",
    "records": "the records",
    "prompts": "the prompts",
    "from.fingerprint": "the weights to start from",
    "init.fingerprint": "the weights to start from",
    "body": "the files of the body",
    "encoder": "the files of the encoder",
    "rules": "the rules",
}
"""Values that identify data. A message names the data, not the value."""
_READ_ONCE = ("body", "encoder")  # what a run has made of their files is kept, so they may be gone when it goes on


def content_of(body: str) -> dict[str, str]:
    """Return what identifies the files of a body or an encoder, besides its name.

    Args:
        body: as in `model.body`. A body of the package has no entry, nor has what cannot be found.
    """
    folder, patterns = Path(body.removeprefix(HUB)), ("*.json", "*.txt", "*.safetensors")
    if not folder.is_dir():
        with suppress(GlassformerError):  # whatever reads it says what is wrong
            return {"encoder": checkpoint_folder(body, body).name} if body.startswith(HUB) else {}  # its commit
        return {}
    files = {file for pattern in patterns for part in (pattern, f"[0-9]_*/{pattern}") for file in folder.glob(part)}
    return {
        "encoder" if body.startswith(HUB) else "body": sha256_of([file for file in sorted(files) if file.is_file()])
    }


def content_of_readers(model: DesignConfig) -> dict[str, str]:
    """Return the same for the body or encoder of a model, and for its rules. Most designs have none."""
    rules = Path(getattr(model, "rules", "none"))
    return content_of(getattr(model, "body", "none")) | ({"rules": sha256_of([rules])} if rules.is_file() else {})


@contextmanager
def work_in(
    out: Path | None,
    identity: dict[str, Any],
    *,
    resume: bool,
    overwrite: bool,
    processes: Processes = ALONE,
) -> Iterator[None]:
    """Begin or continue an unfinished run in `out`. Meanwhile, no other process may write there, and large arrays
    lie there.

    Of several processes, the one that leads writes there; the others read its files.

    A run that fails before there is anything to resume leaves no files; one that is interrupted keeps all. Without
    `out`, nothing is done.

    Args:
        identity: the values that must not change between a run and its continuation. Of settings that are a record, one
            that a later version added is as it is by default.

    Raises:
        UsageError: see `prepare_out`; another process uses the folder; a value of `identity` has changed; or several
            processes have no folder in common.
        GlassformerError: the files there are damaged, or the disk is full.
    """
    if out is None:
        yield
        return
    work = out / CHECKPOINT_FOLDER
    if not processes.leads:
        wait_for_all(processes)
        _check_same_run(work / RUN_FILE, identity)
        with mapping_in(out):
            yield
        return
    with only_writer(out):
        refuse_loss(out, resume=resume, overwrite=overwrite)
        check_no_links(work)
        try:
            _open(work, identity, resume=resume)
            wait_for_all(processes)
            with mapping_in(out):
                yield
        except Exception as error:
            if processes.leads and not (resume or isinstance(error, InterruptedTraining) or has_progress(work)):
                shutil.rmtree(work, ignore_errors=True)
            if isinstance(error, GlassformerError) or not is_no_room(error):
                raise
            raise GlassformerError(f"nothing more can be written in {why_not_written(out, error, 0)}") from error


def has_progress(work: Path) -> bool:
    """Whether the run in `work` has come so far that it is worth keeping: some step is saved."""
    first_stage = work / PRETRAINED_FOLDER
    return (
        (work / STATE_FILE).is_file()
        or (first_stage / CHECKPOINT_FOLDER / STATE_FILE).is_file()
        or is_model_folder(first_stage)
    )


def _open(work: Path, identity: dict[str, Any], *, resume: bool) -> None:
    """Begin an unfinished run in `work`, or check that the run there is the one to continue."""
    file = work / RUN_FILE
    if resume and (file.exists() or (work / STATE_FILE).exists()):
        if changed := _changes(_identity_before(file, identity), _plain(identity)):
            shown = listed(changed, _CHANGES_SHOWN, between="; ", more="; and {:,} more")
            raise UsageError(
                f"`resume=True`: this run began with other data or settings: {shown}. "
                "Resume with the same ones, or start again with `overwrite=True`"
            )
        return
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, mode=0o700)  # it holds texts, as tokens
    write_aside(file, json.dumps(_plain(identity), indent=2))
    add_sum(work, file.name)


def _check_same_run(file: Path, identity: dict[str, Any]) -> None:
    """Raise `UsageError` if another process than this one began the run, or one that sees other data."""
    if not file.is_file():
        raise UsageError(f"{file} is missing: all processes of a run need one folder in common; give it as `out=`")
    if changed := _changes(_identity_before(file, identity), _plain(identity)):
        raise UsageError(
            f"the processes of this run see other data or settings: {'; '.join(changed[:_CHANGES_SHOWN])}. "
            "Start all of them with the same ones"
        )


def _plain(identity: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for name, value in identity.items()
    }


def _identity_before(file: Path, now: dict[str, Any]) -> dict[str, Any]:
    """Return the values that the run in this folder began with. Raises `GlassformerError` if they cannot be read."""
    try:
        if file.exists() and not file.is_file():  # a pipe may never end
            raise ValueError("it is not a file")
        before = json.loads(file.read_text(encoding="utf-8"))
        if is_changed(file):
            raise ValueError("its checksum differs")
        if not isinstance(before, dict):
            raise ValueError("it holds no settings by name")
    except (OSError, ValueError, RecursionError) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise GlassformerError(
            f"{file} is damaged or missing ({cause}); start the run again with `overwrite=True`"
        ) from error
    for name, value in now.items():
        if isinstance(value, BaseModel):
            with suppress(ValidationError):  # settings that this version does not have
                before[name] = type(value).model_validate(before.get(name)).model_dump(mode="json")
    return before


def _changes(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """Return a clause for each value that differs: "training.epochs was 3 and is now 5"."""
    changed: list[str] = []
    for key in sorted(before.keys() | now.keys()):
        old, new, name = before.get(key), now.get(key), f"{prefix}{key}"
        if isinstance(old, dict) and isinstance(new, dict):
            changed += _changes(old, new, "" if name == "recipe" else f"{name}.")
        elif old != new and not (name in _READ_ONCE and new is None):
            was, now_is = map(_shown, (old, new))
            values = f"was {was} and is now {now_is}"
            if name in _FINGERPRINTS and all(isinstance(value, str | None) for value in (old, new)):
                values = "(new)" if old is None else "(no longer given)" if new is None else "changed"
            changed.append(f"{_FINGERPRINTS.get(name, name)} {values}")
    return changed


def _shown(value: Any) -> str:
    """Return a value for a message. Of a record of weights, that is where they came from."""
    if isinstance(value, dict):
        value = value.get("from", value)
    return "not set" if value is None else brief_value(value)


def learn_tokenizer(
    texts: pl.Series, config: TokenizerConfig, work: Path | None, inputs: Inputs | None = None
) -> TextTokenizer:
    """Learn the vocabulary of the training texts. A resumed run reads the vocabulary that it began with."""
    file = None if work is None else work / "tokenizer.json"
    if file is not None and file.name in read_sums(file.parent) and not is_changed(file):
        return TextTokenizer.load(file)
    if inputs is None:
        tokenizer = TextTokenizer.train(texts, config)
    else:
        plain = texts.str.replace_all(MARK, "").str.replace_all(SEPARATOR, " ")
        tokenizer = TextTokenizer.train(plain, config).with_marks(inputs.tokens)
    if file is not None:
        with written_aside(file) as aside:
            tokenizer.save(aside)
        add_sum(file.parent, file.name)
    return tokenizer


def encode(texts: pl.Series, tokenizer: TextTokenizer, work: Path | None, name: str) -> TokenStore:
    """Encode the texts, on disk under this name, or in memory if there is no work folder."""
    if work is None:
        return TokenStore.in_memory(tokenizer.encode(texts.to_list()))
    try:
        store = TokenStore.open(work / name)
        if len(store) == len(texts) and int(store.tokens.max(initial=0)) < tokenizer.vocab_size:
            return store
    except (FileNotFoundError, ValueError):  # not written yet, or damaged
        pass
    return TokenStore.write(work / name, texts, tokenizer)


def keep_held_out(folder: Path, logits: FloatArray, seconds: float) -> None:
    """Write the logits (rows, n_classes), and the seconds that it took to get them."""
    save_arrays(folder / _HELD_OUT_FILE, {"logits": logits}, seconds)


def kept_held_out(folder: Path | None, shape: tuple[int, int] | None = None) -> tuple[FloatArray, float] | None:
    """Return what `keep_held_out` wrote, or None if it is missing or damaged, or is not of the shape that is known."""
    kept = None if folder is None else load_arrays(folder / _HELD_OUT_FILE)
    if kept is None:
        return None
    logits, seconds = kept[0].get("logits"), kept[1]
    if logits is None or logits.dtype.kind != "f" or logits.ndim != 2 or logits.shape != (shape or logits.shape):
        return None
    sound = isinstance(seconds, int | float) and 0 <= seconds < LONGEST_RUN and np.isfinite(logits).all()
    return (logits, float(seconds)) if sound else None


def versions() -> dict[str, str]:
    """Return the versions of the software that a model is made with."""
    return {
        "glassformer": glassformer.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def made_now(seconds: float) -> dict[str, Any]:
    """Return what every model folder says of its making, which took so long."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"versions": versions(), "created": created, "training_seconds": round(seconds, 2)}


def run_to_end(trainer: Trainer[Any], out: Path | None, *, resume: bool, save: Callable[[], Made]) -> Made:
    """Train, from a checkpoint if there is one to resume. Then `save` the model and remove the work folder.

    Raises:
        InterruptedTraining: on Ctrl-C; `out` can be resumed.
        NotANumberError: training diverged. It holds what `save` made of the best weights so far, if there are any.
        GlassformerError: the model could not be written. If training has ended, resume `out` to write it.
    """
    if resume and trainer.checkpoint is not None and trainer.checkpoint.is_file():
        trainer.resume()
    try:
        trainer.run()
    except NotANumberError as error:
        if not trainer.best or not all(weights.isfinite().all() for weights in trainer.best.values()):
            raise  # there is no model to keep
        trainer.model.load_state_dict(trainer.best)
        if out is None:
            raise NotANumberError(error.message, best=save()) from error
        best = finish(out, save, saved_step=trainer.saved_step, processes=trainer.processes)
        kept = f"The model of epoch {trainer.state.best_epoch}, the best so far, is in {out}."
        raise NotANumberError(f"{error} {kept}", best=best) from error
    if out is None:
        return save()
    with suppress(CheckpointError):  # without the checkpoint, there is more room for the model
        trainer.save()
    return finish(out, save, saved_step=trainer.saved_step, processes=trainer.processes)


def finish(out: Path, save: Callable[[], Made], *, saved_step: int | None, processes: Processes = ALONE) -> Made:
    """Write the model folder, and only then remove the run that it came from.

    Args:
        saved_step: the step of the last checkpoint, if there is one.

    Raises:
        GlassformerError: the model folder could not be written. The run is unchanged.
        LostProcessError: the process that writes the model folder has ended too early.
    """
    try:
        made = save()
    except GlassformerError as error:
        way_out = "start again"
        if saved_step is not None:
            way_out = f"continue with `resume=True`: the run is saved up to step {saved_step:,}"
        raise GlassformerError(f"training is over, but {error}. Then {way_out}") from error
    if not processes.leads:
        wait_for_all(processes)
        return made
    with suppress(LostProcessError):  # the model is written
        wait_for_all(processes)  # the others may still read the encoded texts
    shutil.rmtree(out / CHECKPOINT_FOLDER, ignore_errors=True)
    return made
