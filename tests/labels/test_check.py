import random

import numpy as np
import polars as pl
import pytest

from glassformer import check_labels
from glassformer.errors import InputError, UsageError
from glassformer.labels.check import check_table
from glassformer.labels.findings import (
    CONFLICT,
    DOUBTFUL,
    IN_TEST,
    NEAR_CONFLICT,
    NEAR_REPEAT,
    NEAR_TEST,
    REPEAT,
    LabelCheck,
    knows_nothing,
    schema,
)
from glassformer.labels.repeats import Repeats
from tests.labels.samples import opinions, table_of, truth_in

WHOLE = True  # few strengths find fewer doubts

ROWS = opinions(80)


def rows_of(check: LabelCheck, why: str) -> list[tuple[int, int | None]]:
    return list(check.of_kind(why).select("row", "other_row").iter_rows())


def test_a_turned_label_is_the_first_finding() -> None:
    turned = [(text, "bad" if number == 24 else label) for number, (text, label) in enumerate(ROWS)]
    check = check_table(truth_in(turned))
    first = check.findings.row(0, named=True)
    assert (first["row"], first["label"], first["why"], first["suggested_label"]) == (25, "bad", DOUBTFUL, "good")
    assert first["probability"] > 0.6
    assert first["text"] == ROWS[24][0]
    assert (check.estimated_wrong or 0) >= 1
    assert check.agreement > 0.9
    assert check.majority == 41 / 80
    assert not check.knows_little
    assert (check.rows, check.labels) == (80, ("bad", "good"))
    assert check.findings.schema == pl.Schema(schema("probability"))


def test_labels_that_the_words_do_not_tell_are_no_doubts() -> None:
    draw = random.Random(1)
    check = check_table(truth_in([(text, draw.choice(("good", "bad"))) for text, _ in opinions(200)]))
    assert abs(check.agreement - 0.5) < 0.15
    assert check.knows_little


def useless(rows: int = 300) -> list[tuple[str, str]]:
    """Three labels in five are good, and the words say nothing of it. The first text stands there twice."""
    draw = random.Random(6)
    texts = [text for text, _ in opinions(rows)]
    found = [(text, draw.choices(("good", "bad"), (6, 4))[0]) for text in texts]
    return [*found, (texts[0], "bad" if found[0][1] == "good" else "good"), found[1]]


def test_a_model_that_knows_nothing_doubts_and_suggests_nothing() -> None:
    check = check_table(truth_in(useless()))
    assert check.agreement <= check.majority
    assert check.knows_nothing
    assert check.of_kind(DOUBTFUL).is_empty()
    assert (check.estimated_wrong, check.curve) == (None, None)
    assert rows_of(check, CONFLICT) == [(1, 301), (301, 1)]
    assert check.of_kind(CONFLICT)["suggested_label"].null_count() == 2
    assert check.to_fill_in(prefill=True).drop_nulls("new_label").select("row", "new_label").rows() == [(302, "drop")]
    texts, labels = zip(*useless(), strict=True)
    number = check_labels(texts, random.Random(2).choices(range(1000), k=len(labels)), task="number")
    assert number.agreement <= 0
    assert number.of_kind(DOUBTFUL).is_empty()


def test_contradictions_and_repeats_name_the_other_row() -> None:
    """Texts are the same if their words are: case and white space do not matter."""
    text, label = ROWS[0]
    other = "bad" if label == "good" else "good"
    repeated = ROWS[1]
    rows = [*ROWS, (f"  {text.upper()} ", other), repeated, (text, label)]
    check = check_table(truth_in(rows))
    assert rows_of(check, CONFLICT) == [(1, 81), (81, 1), (83, 81)]
    assert rows_of(check, REPEAT) == [(82, 2)]
    assert check.of_kind(CONFLICT)["suggested_label"].n_unique() == 1
    assert check.of_kind(REPEAT)["suggested_label"].to_list() == [None]


def test_nearly_the_same_texts_say_how_near() -> None:
    long = "an orchestra of forty two played as if the weather outside did not matter to anyone in the hall"
    story = "the story of a lighthouse keeper who counts ships and never once goes aboard any of them himself"
    rows = [*ROWS, (f"{long} today", "good"), (f"{long} again", "bad"), (story, "bad"), (f"{story} again", "bad")]
    check = check_table(truth_in(rows))
    assert rows_of(check, NEAR_CONFLICT) == [(81, 82), (82, 81)]
    assert rows_of(check, NEAR_REPEAT) == [(84, 83)]
    assert check.of_kind(NEAR_CONFLICT)["similarity"].is_between(0.8, 0.99).all()
    assert check.of_kind(NEAR_REPEAT)["suggested_label"].to_list() == [None]
    assert check.of_kind(REPEAT).is_empty()


def test_rows_of_the_test_table_are_found_and_not_learned() -> None:
    story = "the story of a lighthouse keeper who counts ships and never once goes aboard any of them himself"
    rows = [*ROWS, (story, "good")]
    test = table_of([("nothing of the kind", "good"), (ROWS[4][0].upper(), "bad"), (f"{story} again", "bad")])
    alone, check = check_table(truth_in(rows)), check_table(truth_in(rows), test)
    assert rows_of(check, IN_TEST) == [(5, 2)]
    assert rows_of(check, NEAR_TEST) == [(81, 3)]
    of_training = pl.col("why").is_in([IN_TEST, NEAR_TEST]).not_()
    assert check.findings.filter(of_training).equals(alone.findings)


def test_near_rows_and_groups_are_not_split() -> None:
    texts = ["one text that is long enough", "one text that is long enough!", "another", "a third", "a fourth", "fifth"]
    repeats = Repeats.of(texts)
    assert repeats.groups(3).tolist() == [0, 0, 1, 2, 3, 4]
    import numpy as np

    together = repeats.groups(3, np.array(["a", "b", "b", "c", "d", "d"]))
    assert together[0] == together[1] == together[2]
    assert together[4] == together[5]
    assert len(set(together.tolist())) == 3


def test_a_pattern_that_most_texts_follow_is_not_a_group() -> None:
    """Otherwise there would be nothing to learn from."""
    texts = [f"the quick brown fox jumps over the lazy dog, and lazily it sleeps on {number}" for number in range(30)]
    assert len(set(Repeats.of(texts).groups(5).tolist())) == 30


def test_from_python() -> None:
    texts, labels = [text for text, _ in ROWS], [label == "good" for _, label in ROWS]
    labels[24] = not labels[24]
    check = check_labels(texts, labels, groups=[number // 2 for number in range(80)], test_texts=texts[:1])
    assert check.findings["row"][0] == 25
    assert set(check.labels) == {"False", "True"}
    assert rows_of(check, IN_TEST) == [(1, 1)]


def test_prefilling_suggests_once_for_each_row() -> None:
    text, label = ROWS[0]
    rows = [*ROWS, (text, "bad" if label == "good" else "good"), ROWS[1]]
    check = check_table(truth_in(rows))
    assert check.to_fill_in(prefill=False)["new_label"].null_count() == check.findings.height
    filled = check.to_fill_in(prefill=True)
    by_row = {(line["row"], line["why"]): line["new_label"] for line in filled.iter_rows(named=True)}
    assert by_row[(82, REPEAT)] == "drop"
    assert sum(new is not None for (row, _), new in by_row.items() if row in (1, 81)) == 1
    assert all(count == 1 for count in filled.drop_nulls("new_label")["row"].value_counts()["count"])
    named_drop = [(text, "drop" if label == "bad" else label) for text, label in [*ROWS, ROWS[1]]]
    repeat = check_table(truth_in(named_drop)).to_fill_in(prefill=True).filter(pl.col("why") == REPEAT)
    assert repeat["new_label"].to_list() == [None]


def test_prefilling_drops_a_row_whose_first_finding_suggests_nothing() -> None:
    text, label = ROWS[0]
    other = "bad" if label == "good" else "good"
    check = check_table(truth_in([*ROWS, (text, other), ROWS[1]]), table_of(ROWS[:2]))
    filled = check.to_fill_in(prefill=True).select("row", "why", "new_label")
    assert filled.filter(pl.col("row").is_in([1, 2, 81, 82])).sort("row", maintain_order=True).rows() == [
        (1, CONFLICT, None),
        (1, IN_TEST, "drop"),
        (2, IN_TEST, "drop"),
        (81, DOUBTFUL, label),
        (81, CONFLICT, None),
        (81, IN_TEST, None),
        (82, REPEAT, "drop"),
        (82, IN_TEST, None),
    ]


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"has 9 usable rows; a check of labels needs at least 10"):
        check_table(truth_in(ROWS[:9]))
    with pytest.raises(UsageError, match="every row has the label 'good'"):
        check_table(truth_in([(text, "good") for text, _ in ROWS]))
    with pytest.raises(UsageError, match="all rows are of one group or have the same text"):
        check_table(truth_in([("the same", "good"), ("the same", "bad")] * 6))
    with pytest.raises(InputError, match=r"texts but 3 groups; give each text its group"):
        check_labels([text for text, _ in ROWS], [label for _, label in ROWS], groups=[1, 2, 3])


@pytest.mark.parametrize("seed", [1, 2, 7, 21])
def test_labels_without_meaning_are_not_doubted_by_chance(seed: int) -> None:
    draw = random.Random(seed)
    check = check_table(truth_in([(text, draw.choice(("good", "bad"))) for text, _ in opinions(120, seed)]))
    assert check.agreement > check.majority
    assert check.knows_nothing
    assert check.of_kind(DOUBTFUL).is_empty()


def test_a_gain_must_be_larger_than_chance() -> None:
    baseline_error = np.repeat((1.0, 0.0), (60, 40))
    for right, nothing in ((61, True), (64, False), (60, True), (59, True)):
        assert knows_nothing(np.repeat((1.0, 0.0), (right, 100 - right)), baseline_error) == nothing
