"""Write a run to a tracker beside the model folder: its settings, its figures, its report and its model."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from glassformer import __version__
from glassformer.data.installed import is_installed, pip_install
from glassformer.errors import GlassformerError, UsageError, as_named, name_as, words_of
from glassformer.prediction.folder_names import REPORT_FILE
from glassformer.prediction.model_folder import TrainedModel
from glassformer.training.card import said_of
from glassformer.training.loop import Observer

TRACKERS = ("mlflow",)
_QUIET = {
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # seven by default, which take minutes if nothing answers
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",  # 120 by default, for each of these tries
}


def tracked(tracker: str | None, out: Path) -> AbstractContextManager[RunOfMlflow | None]:
    """Return a block in which something trains. The tracker shows the run as failed if the block raises.

    Args:
        out: the model folder, which is complete when the model is written to the tracker.

    Raises:
        UsageError: there is no such tracker, it is not installed, or it cannot be reached.
    """
    if tracker is None:
        return nullcontext()
    if tracker not in TRACKERS:
        raise UsageError(f"`track={tracker!r}`: the trackers are {', '.join(TRACKERS)}")
    return _on_mlflow(out)


@contextmanager
def _on_mlflow(out: Path) -> Iterator[RunOfMlflow]:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import mlflow
    except ImportError as error:
        raise UsageError(f"`track='mlflow'` needs MLflow, which is not installed: {pip_install('mlflow')}") from error

    place = mlflow.get_tracking_uri()
    where = f"MLflow at {_without_secrets(place)} (the variable MLFLOW_TRACKING_URI)"
    try:
        run = mlflow.start_run(run_name=out.name)
    except Exception as error:  # the library raises several kinds
        skinny = place.startswith("sqlite") and not is_installed("sqlalchemy")
        why = "such a store needs `pip install mlflow`" if skinny else words_of(error)
        raise UsageError(f"`track='mlflow'`: {where} cannot be used: {why}") from error

    tracker = RunOfMlflow(mlflow, out, where, run.info.run_id)
    try:
        yield tracker
    except BaseException:
        with suppress(Exception):  # what went wrong before is what matters
            mlflow.end_run("FAILED")
        raise
    with tracker.taking():
        mlflow.end_run()


def _without_secrets(address: str) -> str:
    """Return an address without user, password and settings. Other messages leave them out from now on too.

    A password may hold a slash, so all before the last @ may belong to it.
    """
    user, settings = re.search(r"(?<=:)//[^/].*@", address), re.search(r"\?.+", address)
    for secret in filter(None, (user, settings)):
        name_as(secret[0], "//" if secret is user else "")
    return as_named(address)


class RunOfMlflow:
    """Takes the figures of a run and its model."""

    def __init__(self, mlflow: Any, out: Path, where: str, number: str) -> None:
        self._mlflow, self._out, self._where, self._number = mlflow, out, where, number
        self._written = set[int]()  # epochs
        self._answers = True

    def watch(self, observer: Observer) -> Observer:
        """Return an observer that passes everything on, and writes the figures of each epoch."""
        return _Watching(observer, self._try_to_write_epoch)

    def _try_to_write_epoch(self, row: Mapping[str, float]) -> str | None:
        """Return what went wrong, once: each try takes time, so the next one is that of `write`."""
        if self._answers:
            try:
                self._write_epoch(row)
            except Exception as error:  # whatever it is, training goes on
                self._answers = False
                why = as_named(words_of(error))
                return f"{self._where} takes no figures now ({why}); it gets them at the end"
        return None

    def write(self, trained: TrainedModel) -> str:
        """Write everything that it does not have yet. Return a sentence that says where it is.

        Raises:
            GlassformerError: the tracker did not take it.
        """
        from glassformer.prediction.on_mlflow import log_model

        config, mlflow = trained.config, self._mlflow
        with self.taking():
            learned = {name: config.data[name] for name in ("source", "rows", "validation_rows")}
            mlflow.log_params(_flat({**config.recipe, "data": learned}))
            mlflow.set_tag("glassformer", __version__)
            for row in trained.metrics["history"]:  # also of a run that was resumed
                if row["epoch"] not in self._written:
                    self._write_epoch(row)
            figures = _flat({**said_of(trained).figures(trained), "training_seconds": config.training_seconds})
            mlflow.log_metrics({name: value for name, value in figures.items() if type(value) in (int, float)})
            if (self._out / REPORT_FILE).is_file():
                mlflow.log_artifact(str(self._out / REPORT_FILE))
            log_model(self._out)
        return f"{self._where} has it as run {self._number}"

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Raise `GlassformerError` if what is written in the block is not taken."""
        try:
            yield
        except Exception as error:  # the library raises several kinds
            raise GlassformerError(
                f"{self._out} is complete, but {self._where} did not take it: {words_of(error)}"
            ) from error

    def _write_epoch(self, row: Mapping[str, float]) -> None:
        epoch = int(row["epoch"])
        self._mlflow.log_metrics({name: value for name, value in row.items() if name != "epoch"}, step=epoch)
        self._written.add(epoch)


class _Watching:
    def __init__(self, inner: Observer, write: Callable[[Mapping[str, float]], str | None]) -> None:
        self._inner, self._write = inner, write
        self.on_step, self.on_message = inner.on_step, inner.on_message

    def on_epoch(self, row: dict[str, float]) -> None:
        self._inner.on_epoch(row)
        if said := self._write(row):
            self._inner.on_message(f"warning: {said}")


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return a record of records as one: `training.epochs`. What is None is left out."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{name}.")
        elif value is not None:
            found[before + name] = value
    return found
