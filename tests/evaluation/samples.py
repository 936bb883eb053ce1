"""Small synthetic evaluations for the tests of the report."""

from functools import cache

import numpy as np

from glassformer.evaluation.evaluate import evaluate
from glassformer.evaluation.measured import Outcome
from glassformer.evaluation.report import render
from glassformer.evaluation.result import DataSummary, DroppedRows
from glassformer.evaluation.robustness import robustness
from glassformer.targets.costs import CostRow
from glassformer.targets.labels.evaluation import LabelledRows
from glassformer.targets.labels.evaluation_result import LabelEvaluation
from glassformer.targets.labels.target import labels_target
from glassformer.targets.review import Thresholds
from tests.support import flat

LONG = "It went on, and on, and on. " * 20
HISTORY = [
    {"epoch": 1, "step": 70, "train_loss": 0.68, "train_accuracy": 0.55, "validation_loss": 0.6, "seconds": 2.0},
    {"epoch": 2, "step": 140, "train_loss": 0.41, "train_accuracy": 0.81, "validation_loss": 0.39},
    {"epoch": 3, "step": 210, "train_loss": 0.22, "train_accuracy": 0.92, "validation_loss": 0.44},
    {"epoch": 4, "step": 280, "train_loss": 0.12},
]
for _row, _accuracy in zip(HISTORY[:3], (0.68, 0.84, 0.81), strict=True):
    _row["validation_accuracy"] = _accuracy


@cache
def sample_evaluation(
    n: int = 397,
    n_classes: int = 3,
    *,
    multilabel: bool = False,
    text: str = "fine",
    two_readers: bool = False,
    ordered: bool = False,
    costs: tuple[CostRow, ...] = (),
) -> LabelEvaluation:
    rng = np.random.default_rng(7)
    if multilabel:
        labels = (rng.random((n, n_classes)) < 0.3).astype(np.uint8)
        hot = labels.astype(np.float64)
    else:
        labels = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
        hot = np.eye(n_classes)[labels]
    noise = rng.normal(size=(2, n, n_classes))
    logits = ((hot * 4 - 2 + 1.6 * noise[0]) * 2).astype(np.float32)
    scores = np.exp(hot * 3 + 1.3 * noise[1])
    probs = scores / (scores + 4) if multilabel else scores / scores.sum(axis=1, keepdims=True)
    alone = probs**0.9 if multilabel else probs[:, ::-1] ** 0.1 * probs
    readers = {"counting": probs, "transformer": alone}
    texts = [text if i % 8 else LONG + text for i in range(n)]
    class_names = ["negative", "positive", "it depends", *(f"class {i}" for i in range(3, n_classes))][:n_classes]
    rows = LabelledRows(
        truth=labels,
        texts=texts,
        rows=range(11, n + 11),
        logits=logits,
        target=labels_target(class_names, multilabel=multilabel, ordered=ordered, temperature=1.9, costs=costs),
        thresholds=Thresholds.of(probs, labels, multilabel=multilabel),
        resamples=300,
    )
    found: LabelEvaluation = evaluate(
        rows,
        data=DataSummary(
            source="reviews.csv",
            split="test",
            rows=n,
            sha256="0f" * 32,
            languages={"German": 0.6, "English": 0.35},
            trained_on="reviews.csv",
            training_rows=4021,
        ),
        model={
            "name": "reviews",
            "preset": "small",
            "parameters": 1234567,
            "best_epoch": 2,
            "versions": {"torch": "2.13.0"},
        },
        baselines=[
            Outcome(
                name="the majority class",
                description="always the most frequent class of the training rows",
                answers=np.tile(hot.mean(axis=0), (n, 1)),
                fit_seconds=0.0001,
                predict_seconds=0.0001,
                size_bytes=12,
            ),
            Outcome(
                name="TF-IDF + logistic regression",
                description="words and word pairs",
                answers=probs,
                fit_seconds=1.25,
                predict_seconds=0.11,
                size_bytes=1_830_000,
            ),
        ],
        readers=readers if two_readers else {},
        fit_seconds=94.0,
        predict_seconds=1.7,
        size_bytes=4_700_000,
        dropped=[DroppedRows(reason="empty text", count=3, first_rows=(4, 90, 212))],
        notes=["2.1% of the words were unknown."],
        command="glassformer evaluate runs/reviews reviews.csv",
    )
    changed = robustness(
        lambda asked: np.eye(n_classes, dtype=np.float32)[[letters(each) % n_classes for each in asked]], rows
    )
    return found.model_copy(update={"robustness": changed})


def letters(text: str) -> int:
    """A number that depends on every letter of a text."""
    return sum(map(ord, text))


def section(key: str, evaluation: LabelEvaluation) -> str:
    """What stands below the heading of a section of the report. It is empty if the section is left out."""
    found = flat(render(evaluation)).partition(f'<section id="{key}">')[2]
    return found.partition("</section>")[0].partition("</h2>")[2].strip()
