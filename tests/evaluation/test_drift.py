"""Two means, and whether they differ by more than chance explains."""

import numpy as np
import polars as pl
import pytest

from glassformer.data.inputs import BEGIN, END, SEPARATOR
from glassformer.evaluation.drift import LabelFigures, Moved, compared
from glassformer.evaluation.drift_table import Side, drift_table, label_figures
from glassformer.targets.number.held_out import share_of
from glassformer.targets.target import Followed
from tests.evaluation.samples import sample_evaluation, section

NO_LABELS = LabelFigures("label", {})


@pytest.mark.parametrize(("rows", "moved"), [(100, False), (10_000, True)])
def test_few_held_out_rows_make_a_share_uncertain(rows: int, moved: bool) -> None:
    """60 of 100 texts beside 40%: 2.8 standard errors with as many rows, 4.1 with very many."""
    found = compared(Followed("good", [True] * 60 + [False] * 40, share_of(0.4)), rows)
    assert (found.recent, found.held_out, found.moved) == (0.6, 0.4, moved)


def side(rows: int, share: float, *, seed: int) -> Side:
    """Texts of 30 words out of 300, of which a share has another word too."""
    draw = np.random.default_rng(seed)
    texts = [" ".join(f"w{word}" for word in draw.choice(300, 30)) for _ in range(rows)]
    texts = [f"{text} recall <b>" if number < share * rows else text for number, text in enumerate(texts)]
    labels = (np.arange(rows) % 10 < 10 * share).astype(np.int64)
    return Side(texts=pl.Series(texts), labels=label_figures(("bad", "good"), labels))


def test_only_words_that_moved_are_named() -> None:
    found = drift_table(side(500, 0.1, seed=1), side(400, 0.3, seed=2), None, 0, ("the earlier ones", "the later rows"))
    assert [(each.name, each.earlier, each.later) for each in found.words] == [("b", 0.1, 0.3), ("recall", 0.1, 0.3)]
    assert (found.words_compared, found.words_moved) == (302, 2)
    assert [each.name for each in found.moved] == ["label 'bad'", "label 'good'", "words per text"]
    assert found.sentence.endswith(
        "label 'bad' 90% → 70%, label 'good' 10% → 30%, words per text 30.2 → 30.6, the frequency of 2 words "
        "('b', 'recall')"
    )
    alike = drift_table(side(500, 0.1, seed=1), side(400, 0.1, seed=2), None, 0, ("the earlier ones", "the later rows"))
    assert alike.words == ()
    assert alike.sentence == "the later rows are like the earlier ones in their labels, their length and their words"


@pytest.mark.parametrize(("earlier", "later", "shown"), [
    (0.44, 0.51, "44% → 51%"), (0.0004, 0.004, "0.04% → 0.4%"), (0.901, 0.904, "90.1% → 90.4%"), (0, 1, "0% → 100%"),
])  # fmt: skip
def test_shares_that_moved_are_not_written_alike(earlier: float, later: float, shown: str) -> None:
    assert str(Moved(kind="label", name="bad", earlier=earlier, later=later, moved=True)) == f"bad {shown}"


def test_the_words_of_several_texts_of_a_row_are_counted() -> None:
    rows = Side(texts=pl.Series([f"{BEGIN}shop=new york{END}a man runs{SEPARATOR}he runs"]), labels=NO_LABELS)
    assert [each.later for each in drift_table(rows, rows, None, 0, ("", "")).figures if each.kind == "length"] == [5]


def test_the_report_shows_what_moved() -> None:
    found = drift_table(side(500, 0.1, seed=1), side(400, 0.3, seed=2), None, 0, ("the training rows", "these rows"))
    evaluation = sample_evaluation().model_copy(update={"drift": found})
    html = section("drift", evaluation)
    assert "recall</th><td>10.0%</td><td>30.0%</td><td>+20.0%</td>" in html
    assert "label &#39;bad&#39;</th><td>90.0%</td><td>70.0%</td><td>−20.0%</td>" in html
    assert type(evaluation).model_validate_json(evaluation.model_dump_json()).drift == found
    assert section("drift", sample_evaluation()) == ""
