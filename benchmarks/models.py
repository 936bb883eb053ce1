"""The models of the benchmarks: trained once, then read from their folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.experiment import model_folder
from glassformer.cli.live import LiveView
from glassformer.data.documents import Documents
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.prediction.model_folder import is_unfinished
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import PretrainingRecipe, Recipe
from glassformer.training.run import train_classifier


def some_rows(table: Table, rows: int | None, *, seed: int = 0) -> Table:
    """So many rows, drawn by the seed; all of them for None."""
    if rows is None or rows >= table.frame.height:
        return table
    return replace(table, frame=table.frame.sample(rows, seed=seed, shuffle=True))


def classifier(work: Path, name: str, recipe: Recipe, train: Table, test: Table | None = None) -> Path:
    """The folder of a classifier; training leaves out rows whose text is one of `test`."""

    def make(folder: Path) -> None:
        with LiveView() as view:
            train_classifier(
                Sources(train=train, test=test), recipe,
                out=folder, resume=is_unfinished(folder), overwrite=True, observer=view,
            )  # fmt: skip

    rows = {"training": fingerprint(train), "test": None if test is None else fingerprint(test)}
    return model_folder(work, name, {"recipe": recipe.model_dump(mode="json"), **rows}, make)


def language_model(work: Path, name: str, recipe: PretrainingRecipe, documents: Documents) -> Path:
    """The folder of a language model."""

    def make(folder: Path) -> None:
        with LiveView() as view:
            pretrain(
                documents, recipe,
                out=folder, resume=is_unfinished(folder), overwrite=True, observer=view,
            )  # fmt: skip

    made_of = {"recipe": recipe.model_dump(mode="json"), "texts": documents.fingerprint}
    return model_folder(work, name, made_of, make)
