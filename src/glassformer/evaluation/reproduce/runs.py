"""One run of a system with one seed: trained, measured on test rows, and kept beside its model folder."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path

import torch
from pydantic import ValidationError

from glassformer.data.files import written_aside
from glassformer.data.known import resolve
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.errors import GlassformerError
from glassformer.evaluation.metrics import measure
from glassformer.evaluation.result import Estimate, Record
from glassformer.models.build import parameter_count
from glassformer.prediction.calibration import probabilities
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.loop import Observer
from glassformer.training.recipe import Recipe
from glassformer.training.run import CHECKPOINT_FOLDER, train_classifier
from glassformer.training.sources import SourceConfig, read_sources

RUN_FILE = "run.json"
_SMALL = 1_000  # training rows that are scored again at the end


class SystemRun(Record):
    """What one run found. `history` is one row per epoch: training loss, validation loss and accuracy, seconds."""

    recipe_name: str
    data: str
    seed: int
    accuracy: Estimate
    macro_f1: float
    weighted_f1: float
    training_accuracy: float | None
    """Of the model that was kept, on all its training rows; only where these are few."""
    parameters: int
    training_rows: int
    validation_rows: int
    test_rows: int
    test_sha256: str
    training_sha256: str
    best_epoch: int
    history: tuple[dict[str, float], ...]
    training_seconds: float
    evaluation_seconds: float
    evaluation_texts_per_second: float
    recipe: dict[str, object]
    threads: int
    versions: dict[str, str]
    created: str
    init: dict[str, str] | None = None
    """The weights that it started from, by name and fingerprint; none: from scratch."""


def run_folder(out: Path, recipe_name: str, data: str, recipe: Recipe, init: InitialWeights | None) -> Path:
    """Where a run lives: readable, and with a digest of recipe and weights, so that others are another run."""
    settings = recipe.model_dump(mode="json", exclude={"description"}) | ({} if init is None else init.record)
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]
    return out / "runs" / f"{recipe_name}-{data}-{recipe.training.seed}-{digest}"


def kept_run(folder: Path) -> SystemRun | None:
    """The run that was finished there before, or None.

    Raises:
        GlassformerError: the file is not a run.
    """
    file = folder / RUN_FILE
    if not file.is_file():
        return None
    try:
        return SystemRun.model_validate_json(file.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        raise GlassformerError(f"{file} is damaged; remove {folder}, and the same command runs it anew") from error


def run_system(
    recipe_name: str,
    data: str,
    recipe: Recipe,
    folder: Path,
    *,
    init: InitialWeights | None,
    data_dir: Path | None,
    device: str,
    observer: Observer,
    stamp: Mapping[str, str],
) -> SystemRun:
    """Train one recipe on a known data set, measure it on the test rows, and keep both in `folder`.

    A run that was cut short goes on where it was. `stamp` is added to the versions.

    Raises:
        InterruptedTraining: on Ctrl-C; the same call goes on later.
        UsageError: the data set is not on this machine.
    """
    source = SourceConfig(train=data)
    sources = read_sources(source, recipe.validation, data_dir)
    trained = train_classifier(
        sources,
        recipe,
        source=source,
        init=init,
        out=folder,
        resume=(folder / CHECKPOINT_FOLDER).is_dir(),
        overwrite=True,
        device=device,
        observer=observer,
    )
    run = _measured(trained, recipe_name, data, recipe, resolve(data, "test", data_dir), sources.train, device)
    run = run.model_copy(update={"versions": {**run.versions, **stamp}})
    with written_aside(folder / RUN_FILE) as aside:
        aside.write_text(run.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return run


def _measured(
    trained: TrainedModel, recipe_name: str, data: str, recipe: Recipe, test: Table, train: Table, device: str
) -> SystemRun:
    config = trained.config
    predictor = Predictor(trained, device=device)
    began = time.perf_counter()
    logits = predictor.logits(test.frame["text"].to_list())
    seconds = time.perf_counter() - began
    probs = probabilities(logits, temperature=config.temperature, multilabel=False)
    found = measure(probs, trained.label_set.encode(test), trained.label_set.names, multilabel=False)
    return SystemRun(
        recipe_name=recipe_name,
        data=data,
        seed=recipe.training.seed,
        accuracy=found.accuracy,
        macro_f1=found.macro_f1.value,
        weighted_f1=found.weighted.f1,
        training_accuracy=_accuracy(predictor, train) if train.frame.height <= _SMALL else None,
        parameters=parameter_count(config.model, config.vocab_size, trained.n_classes),
        training_rows=config.data["rows"],
        validation_rows=config.data["validation_rows"],
        test_rows=test.frame.height,
        test_sha256=fingerprint(test),
        training_sha256=config.data["fingerprint"],
        best_epoch=int(trained.metrics["best_epoch"]),
        history=tuple(trained.metrics["history"]),
        training_seconds=config.training_seconds,
        evaluation_seconds=round(seconds, 3),
        evaluation_texts_per_second=round(test.frame.height / seconds, 1),
        recipe=config.recipe,
        init=config.init,
        threads=torch.get_num_threads(),
        versions=config.versions,
        created=config.created,
    )


def _accuracy(predictor: Predictor, table: Table) -> float:
    answers = predictor.logits(table.frame["text"].to_list()).argmax(axis=1)
    return float((answers == predictor.trained.label_set.encode(table)).mean())
