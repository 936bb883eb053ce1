import numpy as np
import polars as pl

from benchmarks.slices import _holds, _is_named, _nothing_worse, _real, _same_length
from benchmarks.tables_slices import slices_tables
from glassformer.evaluation.slices import find_slices
from glassformer.evaluation.weak_spots import Slice

TEXTS = [f"{'refund' if row % 5 == 0 else 'thanks'} please" + " again" * (row // 5 % 4) for row in range(400)]
RIGHT = np.random.default_rng(0).random(400) < 0.9
SHOP = pl.Series("shop", ["north", "south"] * 200)
REFUND = _holds(TEXTS, "refund")


def slice_of(word: str) -> Slice:
    return next(each for each in find_slices(TEXTS, RIGHT).listed if each.value == word)


def test_a_slice_that_was_made_much_worse_is_named_and_one_that_was_not_is_not() -> None:
    random = np.random.default_rng(0)
    refund = slice_of("refund")
    assert refund.rows == REFUND.sum() == 80
    assert _is_named(refund, TEXTS, RIGHT.copy(), SHOP, 0.5, random)
    assert not _is_named(refund, TEXTS, RIGHT.copy(), SHOP, 0.0, random)


def test_slices_that_were_named_are_compared_with_later_rows() -> None:
    random = np.random.default_rng(1)
    first, later = (~REFUND | (random.random(400) < 0.5) for _ in range(2))  # half of the refunds are wrong
    line = _real("shop", [((TEXTS, first), (TEXTS, later))])
    assert line["compared"] == line["worse_later"] == line["named"][0] == 1
    assert line["gap"] == first[~REFUND].mean() - first[REFUND].mean()
    assert line["gap_later"] == later[~REFUND].mean() - later[REFUND].mean()


def test_a_slice_of_lengths_is_found_among_rows_with_other_quarters() -> None:
    short = next(each for each in find_slices(TEXTS, RIGHT).listed if each.kind == "length" and each.value == "2")
    longer = [f"{text} and again" if number % 3 else text for number, text in enumerate(TEXTS)]
    found = _same_length(short, longer, RIGHT)
    assert found is not None
    assert found.rows == sum(len(text.split()) == 2 for text in longer)


def test_the_tables_show_what_was_counted() -> None:
    line = _nothing_worse("shop", (TEXTS, RIGHT), 5)
    assert (line["rows"], line["trials"]) == (400, 5)
    cell = {"fall": 0.1, "at_least": 20, "trials": 7, "named": {"value": 0.5, "low": 0.2, "high": 0.8}}
    real = {"table": "t", "rows": [3, 4], "looked_at": [9], "named": [0, 0], "compared": 0}
    shown = "\n".join(
        slices_tables(
            {
                "real": [real],
                "nothing_worse": [line],
                "one_worse": [cell],
                "seeds": [0],
                "sizes": (20, 50),
                "falls": (0.1,),
            }
        )
    )
    assert "| `t` | 3 to 4 | 9 | 0 | 0 |" in shown
    assert "| .100 | .500 [.200, .800] |  |" in shown
    assert "7 to 7 trials" in shown
