"""Write a run to a tracker beside the model folder: its settings, its figures, its report and its model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from glassformer import __version__
from glassformer.data.installed import pip_install
from glassformer.errors import GlassformerError, UsageError, words_of
from glassformer.prediction.folder_names import REPORT_FILE
from glassformer.prediction.model_folder import TrainedModel
from glassformer.training.card import said_of

TRACKERS = ("mlflow",)
_QUIET = {
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # seven by default, which take minutes if nothing answers
}
Write = Callable[[TrainedModel], str]
"""Writes a trained model to the tracker, and returns a sentence that says where."""


def tracked(tracker: str | None, out: Path) -> AbstractContextManager[Write | None]:
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
def _on_mlflow(out: Path) -> Iterator[Write]:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import mlflow
    except ImportError as error:
        raise UsageError(f"`track='mlflow'` needs MLflow, which is not installed: {pip_install('mlflow')}") from error
    from mlflow.exceptions import MlflowException

    where = f"MLflow at {mlflow.get_tracking_uri()} (the variable MLFLOW_TRACKING_URI)"
    try:
        run = mlflow.start_run(run_name=out.name)
    except MlflowException as error:
        raise UsageError(f"`track='mlflow'`: {where} cannot be used: {words_of(error)}") from error

    def write(trained: TrainedModel) -> str:
        try:
            _write(mlflow, trained, out)
        except (MlflowException, OSError) as error:
            raise GlassformerError(f"{out} is complete, but {where} did not take it: {words_of(error)}") from error
        return f"{where} has it as run {run.info.run_id}"

    with run:
        yield write


def _write(mlflow: Any, trained: TrainedModel, out: Path) -> None:
    from glassformer.prediction.on_mlflow import log_model

    config = trained.config
    learned = {name: config.data[name] for name in ("source", "rows", "validation_rows")}
    mlflow.log_params(_flat({**config.recipe, "data": learned}))
    mlflow.set_tag("glassformer", __version__)
    for row in trained.metrics["history"]:
        mlflow.log_metrics({name: value for name, value in row.items() if name != "epoch"}, step=int(row["epoch"]))
    figures = _flat({**said_of(trained).figures(trained), "training_seconds": config.training_seconds})
    mlflow.log_metrics({name: value for name, value in figures.items() if type(value) in (int, float)})
    if (out / REPORT_FILE).is_file():
        mlflow.log_artifact(str(out / REPORT_FILE))
    log_model(out)


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return a record of records as one: `training.epochs`. What is None is left out."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{name}.")
        elif value is not None:
            found[before + name] = value
    return found
