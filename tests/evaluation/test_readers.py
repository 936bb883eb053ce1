from functools import partial

import numpy as np
import pytest

from glassformer.evaluation.evaluate import evaluate
from glassformer.evaluation.measured import Outcome
from glassformer.evaluation.result import DataSummary, Duel
from glassformer.targets.labels.evaluation import LabelledRows
from glassformer.targets.labels.evaluation_result import LabelComparison, LabelContestant, LabelEvaluation
from glassformer.targets.labels.target import labels_target

N = 200
TFIDF = partial(Outcome, name="TF-IDF + logistic regression", description="")


def answers(right: slice) -> np.ndarray:
    """Return answers that are right on these of 200 rows. Row i has the class i % 2."""
    labels = np.arange(N) % 2
    found = 1 - labels
    found[right] = labels[right]
    return np.eye(2)[found] * 0.8 + 0.1


def duel(
    both: slice,
    counting: slice | None,
    transformer: slice | None,
    *,
    baseline: slice | None = None,
    **others: slice | None,
) -> Duel[LabelContestant, LabelComparison]:
    readers = {
        name: None if right is None else answers(right)
        for name, right in {"counting": counting, **others, "transformer": transformer}.items()
    }
    found: LabelEvaluation = evaluate(
        LabelledRows(
            truth=np.arange(N) % 2, logits=np.log(answers(both)), texts=["text"] * N,
            rows=range(N), target=labels_target(["no", "yes"]),
            resamples=200,
        ),
        readers=readers, baselines=[] if baseline is None else [TFIDF(answers=answers(baseline))],
        data=DataSummary(source="a.csv", split="test", rows=N), model={"name": "m"},
    )  # fmt: skip
    return found.duel


def rows(start: int, stop: int) -> slice:
    return slice(start, stop)


def test_the_model_is_measured_beside_each_reader() -> None:
    found = duel(rows(0, 160), rows(0, 120), rows(0, 150))
    assert found.model.name == "the model"
    assert [(each.name, each.metrics.accuracy.value) for each in found.readers] == [
        ("counting alone", 0.6),
        ("the transformer alone", 0.75),
    ]
    assert [(each.baseline, each.only_model_right) for each in found.reader_comparisons] == [
        ("counting alone", 40),
        ("the transformer alone", 10),
    ]


@pytest.mark.parametrize(("both", "counting", "transformer", "said"), [
    (rows(0, 160), rows(0, 156), rows(0, 100), [
        "Counting decides here: it gives .780 alone, and with the transformer .800 (difference +.020, 95% interval +.0",
        ", p = .125); these rows do not show that the transformer helps.",
    ]),
    (rows(0, 160), rows(0, 155), rows(0, 100), [
        "Counting decides here: it gives .775 alone",
        "do not show that the transformer helps. The interval excludes 0, but a clear difference also needs p below",
    ]),
    (rows(0, 160), rows(0, 160), rows(0, 100), [
        "Counting decides here: it gives .800 alone, and with the transformer .800 (right on the same rows); these ",
    ]),
    (rows(0, 160), rows(0, 100), rows(0, 158), [
        "The transformer decides here: it gives .790 alone, and with counting .800 (difference +.010, ",
        "; these rows do not show that counting helps. Both together give .800, against .500 for counting alone (",
        "difference +.300, 95% interval ", ", p < .001).",
    ]),
    (rows(0, 160), rows(0, 120), rows(20, 140), [
        "Both readers are needed here: both together give .800, against .600 for counting alone (difference +.200, ",
        " and .600 for the transformer alone (difference +.200, ",
    ]),
    (rows(0, 160), rows(0, 158), rows(2, 160), [
        "These rows do not show which reader is needed: both together give .800, against .790 for counting alone (diff",
        " and .790 for the transformer alone",
    ]),
    (rows(0, 140), rows(0, 160), rows(0, 100), [
        "Counting is more accurate alone here: it gives .800 alone, and with the transformer .700 (difference −.100, ",
    ]),
    (rows(0, 140), rows(0, 160), rows(0, 180), ["The transformer is more accurate alone here: it gives .900 alone, "]),
])  # fmt: skip
def test_the_sentence_says_which_reader_decides(
    both: slice, counting: slice, transformer: slice, said: list[str]
) -> None:
    sentence = duel(both, counting, transformer).reader_verdict or ""
    assert sentence.startswith(said[0])
    assert all(part in sentence for part in said)


@pytest.mark.parametrize(("counting", "transformer", "said"), [
    (rows(0, 160), None, "The model answers by counting alone: no held-out training rows showed that the transformer "
        "adds anything."),
    (None, rows(0, 160), "The model answers by the transformer alone: no held-out training rows showed that counting "
        "adds anything."),
])  # fmt: skip
def test_a_reader_that_is_not_asked(counting: slice | None, transformer: slice | None, said: str) -> None:
    found = duel(rows(0, 160), counting, transformer)
    assert found.reader_verdict == said
    assert not found.readers
    assert not found.reader_comparisons
    assert found.model.name == "the model"


@pytest.mark.parametrize(("others", "unused"), [
    ({"body": rows(0, 156)}, "The transformer is"),
    ({"body": rows(0, 156), "own": None}, "Own and the transformer are"),
])  # fmt: skip
def test_of_three_readers_those_that_are_not_asked_are_named(others: dict[str, slice | None], unused: str) -> None:
    found = duel(rows(0, 160), rows(0, 120), None, **others)
    said = found.reader_verdict or ""
    assert said.startswith("The body decides here: it gives .780 alone, and with counting .800 (")
    assert said.endswith(f". {unused} not used: no held-out rows showed a sure gain.")
    assert [each.name for each in found.readers] == ["counting alone", "the body alone"]


@pytest.mark.parametrize(("transformer", "said"), [
    (None, "; these rows give no reason to prefer either."),
    (rows(0, 150), "choose the simpler one, TF-IDF + logistic regression, until other test rows show a difference."),
])  # fmt: skip
def test_a_model_of_counting_and_the_body_is_as_simple_as_tf_idf(transformer: slice | None, said: str) -> None:
    found = duel(rows(0, 160), rows(0, 120), transformer, body=rows(0, 156), baseline=rows(0, 160))
    assert found.verdict.endswith(said)
