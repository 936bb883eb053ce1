"""The data sets that the benchmarks read, and the models that they train."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.experiment import Experiment, again
from glassformer.cli.live import LiveView
from glassformer.data.documents import Documents
from glassformer.data.known import Split, resolve
from glassformer.data.sources import SourceConfig, Sources
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table, text_keys
from glassformer.prediction.answering_config import AnsweringConfig
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import PretrainingRecipe, Recipe
from glassformer.training.run import train_model

AnyRecipe = TypeVar("AnyRecipe", Recipe, PretrainingRecipe)
QUICK_ROWS, QUICK_STEPS = 300, 10


def read_splits(
    experiment: Experiment, data: str, *, most: int | None = None, seed: int = 0, group: str | None = None
) -> tuple[Table, Table]:
    """Return the training and the test rows of a known data set: `most` of each, drawn by the seed, or all of them.

    Args:
        group: the column with the groups of the training rows.
    """
    most = QUICK_ROWS if experiment.quick else most

    def read(split: Split) -> Table:
        table = resolve(data, split, group=group if split == "train" else None)
        count = min(most or 0, table.frame.height)
        return replace(table, frame=table.frame.sample(count, seed=seed, shuffle=True)) if count else table

    return read("train"), read("test")


def apart_from(test: Table, train: Table) -> Table:
    """Return the training rows whose text is not a test text.

    Training leaves such rows out itself, but it cannot recognise them after words were cut out.
    """
    shared = text_keys(train.frame["text"]).is_in(text_keys(test.frame["text"]).unique().implode())
    return replace(train, frame=train.frame.filter(~shared))


def classifier(
    experiment: Experiment,
    name: str,
    recipe: Recipe,
    train: Table,
    test: Table | None = None,
    unlabelled: Sequence[Documents] = (),
    source: SourceConfig | None = None,
    validation: Table | None = None,
) -> Path:
    """Return the folder of a classifier. Training leaves out rows whose text is one of `test`.

    Args:
        unlabelled: texts that are read without labels.
        source: where `train` was read from. The folder keeps it.
        validation: the held-out rows, in place of a share of `train`.
    """
    recipe = of_trial(recipe) if experiment.quick else recipe

    def make(folder: Path) -> None:
        with LiveView() as view:
            train_model(
                Sources(train=train, validation=validation, test=test, unlabelled=tuple(unlabelled)), recipe,
                source=source, out=folder, **again(folder), observer=view,
            )  # fmt: skip

    rows: dict[str, Any] = {"training": fingerprint(train), "test": None if test is None else fingerprint(test)}
    if validation is not None:
        rows["validation"] = fingerprint(validation)
    if unlabelled:
        rows["unlabelled"] = [documents.fingerprint for documents in unlabelled]
    return experiment.model(name, {"recipe": recipe.model_dump(mode="json"), **rows}, make)


def language_model(experiment: Experiment, name: str, recipe: PretrainingRecipe, documents: Documents) -> Path:
    """Return the folder of a language model."""
    recipe = of_trial(recipe) if experiment.quick else recipe

    def make(folder: Path) -> None:
        with LiveView() as view:
            pretrain(documents, recipe, out=folder, **again(folder), observer=view)

    made_of = {"recipe": recipe.model_dump(mode="json"), "texts": documents.fingerprint}
    return experiment.model(name, made_of, make)


def answers_by(config: AnsweringConfig) -> str:
    """Say which readers of a model answer."""
    known = {
        ("transformer",): "the transformer", ("counting",): "counting alone",
        ("counting", "transformer"): "both readers",
    }  # fmt: skip
    return known.get(config.asked, config.asked_in_words)


def of_trial(recipe: AnyRecipe) -> AnyRecipe:
    """Return the recipe with few steps."""
    budget = {"max_steps": QUICK_STEPS, "max_seconds": None}
    sections = {"training": recipe.training, "pretraining": getattr(recipe, "pretraining", None)}
    return recipe.model_copy(
        update={name: section.model_copy(update=budget) for name, section in sections.items() if section is not None}
    )
