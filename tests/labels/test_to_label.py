import polars as pl
import pytest

from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.labels.to_label import to_label
from tests.labels.samples import opinions, truth_in

ROWS = opinions(60)


def unlabelled(texts: list[str]) -> Table:
    frame = pl.DataFrame({"text": texts}).with_row_index("row", offset=1)
    return Table(frame=frame, source="more.csv", text_column="text", label_column=None)


def test_doubtful_texts_are_chosen_and_are_unlike_each_other() -> None:
    """Of six doubtful texts, four are alike. One of them is chosen, and both of the others."""
    doubtful = [f"a lovely and dull film, {number}" for number in range(4)]
    others = ["the superb opera was awful", "charming novel, boring concert"]
    sure = [text for text, _ in opinions(40, seed=1)]
    found = to_label(truth_in(ROWS), unlabelled([*sure, *doubtful, *others]), 3)
    assert found.new == 46
    assert {text[:5] for text in found.rows["text"]} == {"a lov", "the s", "charm"}
    assert max(found.rows["probability"].to_list()) < 0.9  # of the sure texts, .98 at least


def test_known_and_repeated_texts_are_left_out() -> None:
    found = to_label(truth_in(ROWS), unlabelled([ROWS[3][0].upper(), "dull film", "Dull  film", "lovely play"]), 9)
    assert found.rows.select("row", "suggested_label").sort("row").rows() == [(2, "bad"), (4, "good")]
    assert found.new == 2
    assert min(found.rows["probability"].to_list()) > 0.5
    with pytest.raises(UsageError, match="all texts are already in opinions"):
        to_label(truth_in(ROWS), unlabelled([ROWS[0][0]]), 1)


def test_texts_of_unknown_words_are_chosen_too() -> None:
    found = to_label(truth_in(ROWS), unlabelled(["zzz", "yyy", "xxx"]), 2)
    assert found.rows.height == 2
