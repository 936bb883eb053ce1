"""What distillation gains: a teacher, a student, and models of the student's size that learned from the labels.

python -m benchmarks.distil
python -m benchmarks.distil --quick

A fifth of the training rows is held out (of imdb, whole films), and no test row is read. Finished models are kept in
the work folder, so a stopped benchmark goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_data import read_rows, some_rows
from benchmarks.experiment import Experiment, again, arguments, running
from benchmarks.models import QUICK_ROWS, answers_by, classifier, of_trial
from benchmarks.tables_distil import distil_tables
from glassformer.cli.live import LiveView
from glassformer.data.documents import Documents
from glassformer.data.known import group_column
from glassformer.data.splits import ValidationConfig, fingerprint, make_splits
from glassformer.data.table import Table
from glassformer.models.build import parameter_count
from glassformer.prediction.predictor import Predictor
from glassformer.training.distil import Teacher, distil, student_recipe
from glassformer.training.recipe import load_recipe

SEED, HELD_OUT, MOST_HELD_OUT, TIMED = 0, 0.2, 1_500, 500
STUDENT = "tiny"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A teacher and what its student reads.

    Attributes:
        labelled: how many training rows the models learn the labels of; None for all.
        more: how many texts of other training rows the student reads, without their labels.
    """

    data: str
    teacher: str
    labelled: int | None = None
    more: int = 0


SETTINGS = (
    Setting(data="disaster-tweets", teacher="base"),
    Setting(data="imdb", teacher="small", labelled=2_500, more=5_000),
)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a setting: those with labels, the texts without, and the rows that all models answer."""

    labelled: Table
    more: Documents | None
    held_out: Table


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        found = {"seed": SEED, "lines": [line(experiment, setting) for setting in SETTINGS]}
        experiment.write("distil", found, distil_tables)


def line(experiment: Experiment, setting: Setting) -> dict[str, Any]:
    """Return the figures of all models of a setting."""
    rows = rows_of(setting, quick=experiment.quick)

    def trained(name: str, preset: str, overrides: Mapping[str, Any] | None = None) -> Path:
        recipe = load_recipe(None, preset=preset, overrides=overrides).for_data(setting.data, None)
        return classifier(experiment, f"distil/{setting.data}-{name}", recipe, rows.labelled)

    teacher = trained("teacher", setting.teacher)
    folders = {
        f"teacher: `{setting.teacher}`": teacher,
        f"`{STUDENT}`, trained on the labels": trained("labels", STUDENT),
        "the same, without a counting reader": trained("transformer", STUDENT, {"model.counting": "none"}),
        f"student: `{STUDENT}`": _student(experiment, setting, teacher, rows),
    }
    expected = np.array(Predictor.load(teacher).answer(rows.held_out.frame["text"].to_list()).named)
    return {
        "table": setting.data,
        "labelled_rows": rows.labelled.frame.height,
        "more_texts": 0 if rows.more is None else len(rows.more.texts),
        "held_out_rows": rows.held_out.frame.height,
        "held_out_sha256": fingerprint(rows.held_out),
        "models": [measured(name, folder, rows.held_out, expected) for name, folder in folders.items()],
    }


def rows_of(setting: Setting, *, quick: bool) -> Rows:
    """Split the training rows of a setting. No film of imdb is on two sides."""
    table = read_rows(setting.data, "train")
    how = ValidationConfig(fraction=HELD_OUT, min_rows=0, group=group_column(setting.data, None))
    splits = make_splits(table, how, seed=SEED)
    assert splits.validation is not None
    most = QUICK_ROWS if quick else table.frame.height
    labelled = some_rows(splits.train, min(most, setting.labelled or most), SEED)
    others = splits.train.frame.join(labelled.frame, on="row", how="anti", maintain_order="left")["text"]
    more = others.sample(min(setting.more, len(others), most), seed=SEED)
    return Rows(
        labelled=labelled,
        more=Documents(texts=more, source=f"{setting.data}, other rows") if len(more) else None,
        held_out=some_rows(splits.validation, min(most, MOST_HELD_OUT), SEED),
    )


def _student(experiment: Experiment, setting: Setting, teacher: Path, rows: Rows) -> Path:
    recipe = student_recipe(STUDENT)
    recipe = of_trial(recipe) if experiment.quick else recipe
    documents = [] if rows.more is None else [rows.more]

    def make(folder: Path) -> None:
        with LiveView() as view:
            distil(
                Teacher.load(teacher), documents, recipe,
                labelled=rows.labelled, out=folder, **again(folder), observer=view,
            )  # fmt: skip

    made_of = {
        "teacher": teacher.name,
        "recipe": recipe.model_dump(mode="json"),
        "texts": [fingerprint(rows.labelled), *(each.fingerprint for each in documents)],
    }
    return experiment.model(f"distil/{setting.data}-student", made_of, make)


def measured(name: str, folder: Path, held_out: Table, expected: np.ndarray) -> dict[str, Any]:
    """Let a model answer the held-out rows, and measure how fast it answers some of them.

    Args:
        expected: the teacher's answers.
    """
    predictor, texts = Predictor.load(folder), held_out.frame["text"].to_list()
    config = predictor.trained.config
    answers = np.array(predictor.answer(texts).named)
    timed = texts[:TIMED]
    began = time.process_time()  # other work on the machine slows down the clock on the wall
    predictor.answer(timed)
    seconds = time.process_time() - began
    files = (file for file in folder.iterdir() if file.is_file() and file.name != "made-of.json")
    return {
        "name": name,
        "answers_by": answers_by(config),
        "accuracy": float((answers == np.array(held_out.frame["label"].to_list())).mean()),
        "agreement": float((answers == expected).mean()),
        "parameters": parameter_count(config.model, config.vocab_size, config.n_classes),
        "bytes": sum(file.stat().st_size for file in files),
        "texts_per_second": len(timed) / seconds,
        "training_seconds": config.training_seconds,
        "teacher_seconds": config.data.get("teacher", {}).get("seconds", 0.0),
    }


if __name__ == "__main__":
    main()
