from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glassformer.data.arrays import FloatArray
from glassformer.evaluation.measured import Answer
from glassformer.evaluation.robustness import TYPO_DRAWS, answers_of, robustness
from glassformer.evaluation.weak_spots import Robustness, TextChange
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.evaluation import LabelledRows
from glassformer.targets.labels.target import labels_target
from tests.evaluation.samples import sample_evaluation, section
from tests.trained import Trained

NAMES = ["no", "yes"]
OPINIONS = [f"The food is good, {word}." for word in ("amber", "basil", "cedar", "delta", "ember") * 5]


def reads_case(texts: Sequence[str]) -> FloatArray:
    """Answers yes if the text begins in upper case."""
    return np.array([[0.1, 0.9] if text[:1].isupper() else [0.8, 0.2] for text in texts], dtype=np.float32)


def reads_not(texts: Sequence[str]) -> FloatArray:
    return np.array([[0.9, 0.1] if " not " in text else [0.2, 0.8] for text in texts], dtype=np.float32)


def measure(answer: Answer, texts: list[str], labels: list[int] | None = None) -> Robustness[TextChange]:
    truth = np.array([1] * len(texts) if labels is None else labels)
    return robustness(answer, labelled(texts, truth, range(101, 101 + len(texts))))


def labelled(texts: list[str], truth: np.ndarray, rows: Sequence[int]) -> LabelledRows:
    several, logits = truth.ndim == 2, np.zeros((len(texts), 2))
    return LabelledRows(
        truth=truth,
        texts=texts,
        rows=rows,
        logits=logits,
        target=labels_target(NAMES, multilabel=several),
        resamples=50,
    )


def shown(found: Robustness[TextChange]) -> str:
    return section("changes", sample_evaluation(30).model_copy(update={"robustness": found}))


def change(found: Robustness[TextChange], name: str) -> TextChange:
    return next(each for each in found.changes if each.name == name)


def test_a_model_that_reads_case_is_fragile() -> None:
    found = measure(reads_case, OPINIONS)
    assert [each.name for each in found.changes] == ["typos", "upper case", "lower case", "no punctuation", "negation"]
    lower = change(found, "lower case")
    assert lower.rows == found.rows == 25
    assert lower.answers_changed.value == 1
    assert lower.answers_changed.low < 0.9  # exact binomial: 25 rows are not certainty
    assert (lower.accuracy_before, lower.accuracy_after) == (1, 0)
    example = lower.examples[0]
    assert (example.row, example.before, example.after) == (101, OPINIONS[0], OPINIONS[0].lower())
    assert (example.answer_before, example.answer_after) == (("yes",), ("no",))
    assert len(lower.examples) == 2
    for name in ("upper case", "no punctuation", "negation"):
        assert change(found, name).answers_changed.value == 0
        assert change(found, name).examples == ()


def test_a_negation_has_no_accuracy_after() -> None:
    negation = change(measure(reads_not, OPINIONS), "negation")
    assert negation.answers_changed.value == 1
    assert (negation.accuracy_before, negation.accuracy_after) == (1, None)
    assert negation.examples[0].after == "The food is not good, amber."


def test_few_negations_are_left_out() -> None:
    found = measure(reads_not, [*OPINIONS[:19], "short", "words"])
    assert "negation" not in [each.name for each in found.changes]
    assert "negation" in [each.name for each in measure(reads_not, OPINIONS[:20]).changes]


def test_only_texts_that_a_change_alters_count() -> None:
    found = measure(reads_case, ["ok", "Ok", "OK", "Ok."], [1, 1, 1, 0])
    assert {each.name: each.rows for each in found.changes} == {
        "upper case": 3,
        "lower case": 3,
        "no punctuation": 1,
    }
    assert change(found, "upper case").answers_changed.value == pytest.approx(1 / 3)
    assert change(found, "upper case").accuracy_before == pytest.approx(1 / 3)
    assert change(found, "upper case").accuracy_after == pytest.approx(2 / 3)
    assert change(found, "no punctuation").accuracy_before == 0


def test_nothing_to_change_is_no_shown() -> None:
    def never(texts: Sequence[str]) -> FloatArray:
        raise AssertionError(texts)

    for texts in ([], ["好吃", "٣"], ["?!", "..."]):  # without punctuation, the last two would be empty
        found = measure(never, texts)
        assert (found.rows, found.changes) == (len(texts), ())
        assert shown(found) == ""


def test_typos_are_drawn_several_times_for_each_text() -> None:
    text = "wonderful " * 4  # each draw leaves it as it is with a probability of .81

    def answer(texts: Sequence[str]) -> FloatArray:
        return np.array([[0.9, 0.1] if len(text) < 40 else [0.2, 0.8] for text in texts], dtype=np.float32)

    found = change(measure(answer, [text] * 400), "typos")
    assert found.draws == TYPO_DRAWS == 3
    assert 155 < found.rows < 220  # 1 − .81³ = .47 of 400
    assert found.answers_changed.value == pytest.approx(1 / 3, abs=0.06)  # a letter is lost
    assert found.answers_changed.low > 0.25
    assert found.accuracy_after == pytest.approx(1 - found.answers_changed.value)
    assert len({example.row for example in found.examples}) == len(found.examples) == 2


def test_the_same_texts_get_the_same_changes() -> None:
    assert measure(reads_case, OPINIONS) == measure(reads_case, OPINIONS)


def test_several_labels_change_if_one_does() -> None:
    def answer(texts: Sequence[str]) -> FloatArray:
        return np.array([[0.9, 0.9 if "," in text else 0.1] for text in texts], dtype=np.float32)

    truth = np.array([[1, 1], [1, 1], [1, 0]], dtype=np.uint8)
    found = robustness(answer, labelled(["a, b"] * 3, truth, [1, 2, 3]))
    dropped = change(found, "no punctuation")
    assert dropped.answers_changed.value == 1
    assert dropped.accuracy_before == pytest.approx(2 / 3)
    assert dropped.accuracy_after == pytest.approx(1 / 3)
    assert (dropped.examples[0].answer_before, dropped.examples[0].answer_after) == (("no", "yes"), ("no",))


def test_at_most_so_many_rows_and_characters_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    most_rows, most_characters = 200, 10_000
    monkeypatch.setattr("glassformer.evaluation.robustness.MOST_ROWS", most_rows)
    monkeypatch.setattr("glassformer.evaluation.robustness.MOST_CHARACTERS", most_characters)

    def answer(texts: Sequence[str]) -> FloatArray:
        asked[:] = texts
        return reads_case(texts)

    assert measure(answer, [f"row {i}" for i in range(3 * most_rows)]).rows == most_rows
    numbers = [int(text.split()[1]) for text in asked[:most_rows]]
    assert numbers == sorted(set(numbers))
    assert 0.4 * most_rows < sum(number >= 1.5 * most_rows for number in numbers) < 0.6 * most_rows
    assert measure(answer, ["A" * (most_characters // 10)] * 30).rows == 10
    assert measure(answer, ["A" * (most_characters + 1)] * 3).rows == 1


def test_texts_that_are_read_alike_get_the_answer_of_one(reviews: Trained) -> None:
    predictor = Predictor.load(reviews.folder)
    texts = ["good film", "GOOD FILM", "bad song", "Good film", "ｇｏｏｄ film"]
    found = answers_of(predictor, texts)
    assert found == pytest.approx(predictor.answer(texts).probs, abs=1e-6)
    assert (found[0] == found[[1, 3, 4]]).all()
    assert (found[0] != found[2]).all()


def test_a_reader_that_may_read_case_is_asked_for_each_text(reviews: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = Predictor.load(reviews.folder)
    asked: list[str] = []
    given = predictor.reader_logits
    monkeypatch.setattr(type(predictor.trained.config), "asked", ("encoder",))

    def listening(texts: list[str], **more: Any) -> Any:
        asked.extend(texts)
        return given(texts, **more)

    monkeypatch.setattr(predictor, "reader_logits", listening)
    answers_of(predictor, ["good film", "GOOD FILM"])
    assert asked == ["good film", "GOOD FILM"]


def test_the_section_shows_each_change_and_escapes_texts() -> None:
    texts = [f"<b>The</b> food is good, {i}." for i in range(30)]
    found = measure(lambda asked: reads_case([text[3:] for text in asked]), texts)
    html = shown(found)
    assert "30 rows, drawn at random, were changed a little" in html
    assert "in about one of 20 words" in html
    assert "&lt;b&gt;the&lt;/b&gt; food" in html
    assert "<b>The" not in html
    assert "A negation turns what a sentence says" in html
    assert "<td>1.000</td><td>.000</td>" in html  # lower case
    assert "<td>1.000</td><td>–</td>" in html  # a negation
    assert "A negation" not in shown(measure(reads_case, ["Ok.", "No."]))
