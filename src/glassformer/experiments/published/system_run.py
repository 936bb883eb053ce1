"""One run of a system with one seed. It is trained, measured on test rows, and kept in its model folder."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch

from glassformer.data.known import resolve
from glassformer.data.sources import SourceConfig, Sources, read_sources
from glassformer.data.splits import ValidationConfig, fingerprint
from glassformer.data.table import Table
from glassformer.evaluation.metrics import measure
from glassformer.evaluation.record import Estimate, Record
from glassformer.experiments.keeper import keep, run_key
from glassformer.models.build import parameter_count
from glassformer.prediction.folder_format import is_unfinished
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.loop import Observer
from glassformer.training.recipe import Recipe
from glassformer.training.run import train_model

RUN_FILE = "run.json"
_SMALL = 1_000  # up to this many training rows are scored again at the end


class SystemRun(Record):
    """The results of one run. `history` has one row per epoch: training loss, validation loss and accuracy, seconds."""

    recipe_name: str
    data: str
    seed: int
    accuracy: Estimate
    macro_f1: float
    weighted_f1: float
    training_accuracy: float | None
    """The accuracy of the kept model on all its training rows, or None if these are many."""
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
    """The name and fingerprint of the weights that it started from. None means training from scratch."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A known data set on this machine. `digest` identifies all of its rows."""

    source: SourceConfig
    sources: Sources
    test: Table
    digest: str

    @classmethod
    def read(cls, data: str, data_dir: Path | None) -> Self:
        """Read both splits.

        Raises:
            UsageError: they are not on this machine.
        """
        source, test = SourceConfig(train=data), resolve(data, "test", data_dir)
        sources = read_sources(source, ValidationConfig(), data_dir)
        return cls(source=source, sources=sources, test=test, digest=fingerprint(sources.train) + fingerprint(test))


def run_folder(
    out: Path, recipe_name: str, recipe: Recipe, rows: Rows, init: InitialWeights | None, device: str
) -> Path:
    """Return the folder of a run. Its name is readable and ends with a digest of everything that decides the result."""
    settings = {
        "recipe": recipe.model_dump(mode="json", exclude={"description"}),
        "rows": rows.digest,
        "init": None if init is None else init.record,
        "device": device,
    }
    return out / "runs" / f"{recipe_name}-{rows.source.train}-{recipe.training.seed}-{run_key(settings)}"


def run_system(
    recipe_name: str,
    rows: Rows,
    recipe: Recipe,
    folder: Path,
    *,
    init: InitialWeights | None,
    device: str,
    observer: Observer,
    stamp: Mapping[str, str],
) -> SystemRun:
    """Train one recipe on the training rows, measure it on the test rows, and keep both in `folder`.

    A run that was interrupted continues where it stopped. `stamp` is added to the versions.

    Raises:
        InterruptedTraining: on Ctrl-C. The same call continues later.
    """
    resume = is_unfinished(folder)
    trained = train_model(
        rows.sources,
        recipe,
        source=rows.source,
        init=init,
        out=folder,
        resume=resume,
        overwrite=not resume,
        device=device,
        observer=observer,
    )
    run = _measured(trained, recipe_name, rows, recipe, device)
    run = run.model_copy(update={"versions": {**run.versions, **stamp}})
    keep(folder / RUN_FILE, run)
    return run


def _measured(trained: TrainedModel, recipe_name: str, rows: Rows, recipe: Recipe, device: str) -> SystemRun:
    config, train, test = trained.config, rows.sources.train, rows.test
    predictor = Predictor(trained, device=device)
    began = time.perf_counter()
    logits = predictor.logits(test.frame["text"].to_list())
    seconds = time.perf_counter() - began
    found = measure(config.target.values({"": logits}), config.label_set.encode(test), config.label_set.names)
    return SystemRun(
        recipe_name=recipe_name,
        data=rows.source.train,
        seed=recipe.training.seed,
        accuracy=found.accuracy,
        macro_f1=found.macro_f1.value,
        weighted_f1=found.weighted.f1,
        training_accuracy=_accuracy(predictor, train) if train.frame.height <= _SMALL else None,
        parameters=parameter_count(config.model, config.vocab_size, trained.config.n_classes),
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
    return float((answers == predictor.trained.config.label_set.encode(table)).mean())
