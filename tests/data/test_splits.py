import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from glassformer.data import splits
from glassformer.data import table as table_module
from glassformer.data.known import find, group_column, resolve
from glassformer.data.splits import Splits, ValidationConfig, fingerprint, make_splits
from glassformer.data.table import Dropped, Table
from glassformer.errors import UsageError


def table_of(texts: list[str], labels: list[str] | list[list[str]], groups: list[str] | None = None) -> Table:
    columns = {"text": texts, "label": labels} | ({"group": groups} if groups else {})
    return Table(
        frame=pl.DataFrame(columns).with_row_index("row", offset=1),
        source="a.csv",
        text_column="text",
        label_column="label",
        multilabel=isinstance(labels[0], list),
    )


def many(n_rows: int, n_groups: int | None = None) -> Table:
    """A quarter of the rows is "yes"."""
    labels = ["yes" if n % 4 == 0 else "no" for n in range(n_rows)]
    groups = [f"g{n * 7 % n_groups}" for n in range(n_rows)] if n_groups else None
    return table_of([f"text {n}" for n in range(n_rows)], labels, groups)


def rows(table: Table | None) -> list[int]:
    assert table is not None
    return list(table.frame["row"])


def share_of_yes(table: Table | None) -> float:
    assert table is not None
    return (table.frame["label"] == "yes").to_numpy().mean().item()


@given(n_rows=st.integers(20, 90), fraction=st.sampled_from([0.1, 0.23, 0.5]), seed=st.integers(0, 2**32 - 1))
def test_a_share_of_each_class_is_held_out(n_rows: int, fraction: float, seed: int) -> None:
    splits = make_splits(many(n_rows), ValidationConfig(fraction=fraction, min_rows=0), seed=seed)
    assert sorted(rows(splits.train) + rows(splits.validation)) == list(range(1, n_rows + 1))
    assert len(rows(splits.validation)) == round(fraction * n_rows)
    assert abs(share_of_yes(splits.validation) * len(rows(splits.validation)) - fraction * n_rows / 4) <= 1.5


def test_the_seed_decides() -> None:
    config = ValidationConfig(min_rows=50)
    first, again, other = (rows(make_splits(many(61), config, seed=seed).validation) for seed in (3, 3, 4))
    assert first == again != other
    assert first == [1, 6, 12, 34, 37, 58]  # the same on every machine


@pytest.mark.parametrize(
    ("config", "reason"),
    [({"fraction": None}, "fraction is 0"), ({"fraction": 0}, "fraction is 0"), ({}, "199 rows are fewer")],
)
def test_when_nothing_is_held_out_it_is_said(config: dict[str, object], reason: str) -> None:
    splits = make_splits(many(199), ValidationConfig.model_validate(config), seed=0)
    assert splits.validation is None
    assert len(rows(splits.train)) == 199
    assert reason in splits.notes[0]


def test_groups_stay_whole() -> None:
    table = many(420, n_groups=37)
    splits = make_splits(table, ValidationConfig(group="film", min_rows=0), seed=5)
    assert splits.validation is not None
    assert not set(splits.train.frame["group"]) & set(splits.validation.frame["group"])
    assert len(rows(splits.validation)) == pytest.approx(42, abs=12)
    assert share_of_yes(splits.validation) == pytest.approx(0.25, abs=0.1)
    assert "of 37 groups of 'film'" in splits.notes[-1]
    few = make_splits(table, ValidationConfig(group="film"), seed=5)
    assert few.notes[-1] == "37 groups of 'film' stay whole"
    one = make_splits(many(50, n_groups=1), ValidationConfig(group="film"), seed=5)
    assert one.notes[-1] == "all rows are of one group of 'film', so figures may be too good"
    by_row = replace(table, frame=table.frame.with_columns(group=pl.col("row").cast(pl.String)))
    alone = make_splits(by_row, ValidationConfig(group="film"), seed=5)
    assert alone.notes[-1] == "each row has its own value of 'film', so the groups change nothing"


@pytest.mark.parametrize(("n_groups", "values"), [(1, "1 value"), (9, "9 values")])
def test_too_few_groups_are_refused(n_groups: int, values: str) -> None:
    with pytest.raises(UsageError, match=rf"'film' has {values}; .* needs 10 of them"):
        make_splits(many(300, n_groups=n_groups), ValidationConfig(group="film", min_rows=0), seed=5)


def dated(days: list[int], labels: list[str] | None = None) -> Table:
    table = table_of([f"text {n}" for n in range(len(days))], labels or ["yes", "no"] * (len(days) // 2))
    times = [datetime(2024, 1, 1) + timedelta(days=day) for day in days]
    return replace(table, frame=table.frame.with_columns(time=pl.Series(times, dtype=pl.Datetime("us"))))


BY_TIME = ValidationConfig(time="day", fraction=0.25)


def test_the_latest_rows_are_held_out_whatever_the_seed_and_the_size() -> None:
    days = [7, 0, 3, 9, 1, 8, 2, 4, 5, 6, 10, 11]
    for seed in range(3):
        found = make_splits(dated(days), BY_TIME, seed=seed)
        assert rows(found.validation) == [4, 11, 12]
        assert rows(found.train) == [1, 2, 3, 5, 6, 7, 8, 9, 10]
    assert found.notes == (
        "validation: 3 of 12 rows held out, the latest: trained on rows until 2024-01-09, tested on rows after, until "
        "2024-01-12",
    )


@given(days=st.lists(st.integers(0, 6), min_size=4, max_size=40), fraction=st.sampled_from([0.1, 0.25, 0.5]))
def test_rows_of_one_date_are_on_one_side_and_the_cut_is_the_nearest(days: list[int], fraction: float) -> None:
    days = days[: len(days) // 2 * 2]
    assume(len(set(days)) > 1)
    table = dated(days)
    assume(len({table.frame["label"][n] for n, day in enumerate(days) if day == min(days)}) > 1)
    found = make_splits(table, ValidationConfig(time="day", fraction=fraction), seed=0)
    assert found.validation is not None
    assert found.train.frame["time"].max() < found.validation.frame["time"].min()  # type: ignore[operator]
    held_out = found.validation.frame.height
    possible = [sum(day > last for day in days) for last in sorted(set(days))[:-1]]
    assert abs(held_out - fraction * len(days)) == min(abs(each - fraction * len(days)) for each in possible)


def test_rows_that_cannot_be_split_by_time_are_refused() -> None:
    with pytest.raises(UsageError, match="all rows have the same date in the column 'day', so none is later"):
        make_splits(dated([3] * 8), BY_TIME, seed=0)
    with pytest.raises(UsageError, match=r"`?validation.time = 'day'`?: a.csv have no column of dates; leave it out"):
        make_splits(many(40), BY_TIME, seed=0)
    sorted_by_label = dated(list(range(8)), ["no"] * 6 + ["yes"] * 2)
    with pytest.raises(
        UsageError, match="all rows until 2024-01-06 have the label 'no', so nothing can be learned for"
    ):
        make_splits(sorted_by_label, BY_TIME, seed=0)
    with pytest.raises(
        ValidationError, match=r"validation\.group = 'g' whole groups, which may have early and late rows"
    ):
        ValidationConfig(time="day", group="g")


def test_a_random_split_says_what_it_hides() -> None:
    said = (
        "rows have dates (column 'day'): a random split hides how the model does on later rows; `time='day'` measures "
        "it"
    )
    with_column = replace(many(40), dated="day")
    for config in (ValidationConfig(min_rows=0), ValidationConfig()):  # cross-fitted too
        assert said in make_splits(with_column, config, seed=0).notes
        assert said not in make_splits(many(40), config, seed=0).notes
    assert said not in make_splits(with_column, ValidationConfig(fraction=0), seed=0).notes


def test_one_row_is_counted_as_one() -> None:
    few = table_of(["a", "b", "c"], ["x", "y", "x"])
    assert make_splits(few, ValidationConfig(), seed=0, test=table_of(["b", "c"], ["y", "x"])).notes == (
        "validation: no rows are set aside, as 1 row is fewer than validation.min_rows = 2000",
    )
    alone = replace(table_of(["d"], ["x"]), source="v.csv")
    assert make_splits(few, ValidationConfig(file="v.csv"), seed=0, validation=alone).notes == (
        "validation: 1 row of v.csv",
    )


def test_labels_rarer_than_the_folds_do_not_stop_a_group_split() -> None:
    labels = ["a", "a", "b", "b", "c", *["d"] * 25]
    table = table_of([f"text {n}" for n in range(30)], labels, [f"g{n % 15}" for n in range(30)])
    assert rows(make_splits(table, ValidationConfig(group="g", min_rows=3), seed=2).validation)


@pytest.mark.parametrize("labels", [[str(n // 2) for n in range(60)], [[str(n), "x"] for n in range(60)]])
def test_many_rare_classes_are_split_all_the_same(labels: list[str] | list[list[str]]) -> None:
    table = table_of([f"text {n}" for n in range(60)], labels)
    assert len(rows(make_splits(table, ValidationConfig(min_rows=7), seed=1).validation)) == 6


WORDS = st.text(st.sampled_from("aZ\u00e9\u4e00\uffff\U0001f600"), max_size=3)


@given(labels=st.lists(WORDS, min_size=1, max_size=30), fewest=st.integers(1, 4), many=st.sampled_from((0, 100)))
def test_strata_are_numbered_by_code_point(labels: list[str], fewest: int, many: int) -> None:
    """Published splits hang on these numbers."""
    names, numbers, counts = np.unique(np.array(labels), return_inverse=True, return_counts=True)
    rare = counts[numbers] < fewest
    pool = counts.argmax() if rare.sum() < fewest else len(names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "_MANY_VALUES", many)
        found = splits._strata(pl.Series(labels), fewest=fewest)
    assert found.tolist() == np.where(rare, pool, numbers).tolist()


@given(st.lists(st.lists(WORDS, max_size=3), min_size=1, max_size=9))
def test_several_labels_are_one_key(labels: list[list[str]]) -> None:
    table = replace(table_of(["x"] * len(labels), ["y"] * len(labels)), multilabel=True)
    table = replace(table, frame=table.frame.with_columns(label=pl.Series(labels, dtype=pl.List(pl.String))))
    assert table.label_keys.to_list() == ["\0".join(sorted(several)) for several in labels]


RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


@pytest.mark.parametrize("name", ["polarity", "zhou", "disaster-tweets", "imdb"])
def test_published_results_are_of_these_rows(name: str) -> None:
    """The data themselves are not ours to keep here; where they are at hand, they must be what was measured."""
    if name != "polarity" and find(name, "test") is None:
        pytest.skip(f"{name} is not on this machine")
    file = "polarity-polarity" if name == "polarity" else name
    run = json.loads((RESULTS / f"{file}.json").read_text())["runs"][0]
    test = resolve(name, "test")
    assert fingerprint(test) == run["data_sha256"]
    group = group_column(name)
    kept = make_splits(
        resolve(name, "train", group=group), ValidationConfig(group=group), seed=run["seed"], test=test
    ).train
    assert kept.frame.height == run["training_rows"]


def test_the_rows_held_out_of_polarity_stay_the_same() -> None:
    made = make_splits(resolve("polarity", "train"), ValidationConfig(), seed=3, test=resolve("polarity", "test"))
    assert made.validation is not None
    assert (fingerprint(made.train)[:16], fingerprint(made.validation)[:16]) == ("e52985c954d3fe95", "957ddaa7fc5d83ea")


def no_text_is_shared(splits: Splits) -> bool:
    assert splits.validation is not None
    return not set(splits.train.frame["text"].str.strip_chars()) & set(
        splits.validation.frame["text"].str.strip_chars()
    )


@pytest.mark.parametrize("at_once", [7, 200_000])
def test_duplicates_of_held_out_texts_leave_training(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(table_module, "_KEYS_AT_ONCE", at_once)
    texts = [f"text {n % 40}" + " " * (n // 40) for n in range(80)]
    table = table_of(texts, ["yes" if n % 2 else "no" for n in range(80)])
    splits = make_splits(table, ValidationConfig(min_rows=0), seed=9)
    assert no_text_is_shared(splits)
    (dropped,) = splits.train.dropped
    assert dropped.reason == "duplicate of a validation text"
    assert sorted(rows(splits.train) + rows(splits.validation) + dropped.rows) == list(range(1, 81))


def test_a_validation_file_and_a_test_file_keep_their_texts_out_of_training() -> None:
    earlier = Dropped(reason="empty text", rows=[9])
    train = replace(table_of(["a", "b", "caf\u00e9", "d", "d"], ["x", "y", "x", "y", "y"]), dropped=(earlier,))
    validation = table_of([" b", "e", "f"], ["y", "x", "y"])
    test = table_of(["cafe\u0301", "f "], ["x", "y"])
    splits = make_splits(train, ValidationConfig(file="v.csv"), seed=0, validation=validation, test=test)
    assert rows(splits.train) == [1, 4, 5]
    assert rows(splits.validation) == [1, 2]
    assert splits.train.dropped == (
        earlier,
        Dropped(reason="duplicate of a test text", rows=[3]),
        Dropped(reason="duplicate of a validation text", rows=[2]),
    )
    assert splits.validation is not None
    assert splits.validation.dropped == (Dropped(reason="duplicate of a test text", rows=[3]),)


def test_the_same_file_twice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no row is left.*named twice"):
        make_splits(many(12), ValidationConfig(), seed=0, test=many(12))


def test_conflicting_labels_are_said_and_kept() -> None:
    splits = make_splits(table_of(["a", "b", "a", "b", "c"], ["x", "y", "y", "y", "x"]), ValidationConfig(), seed=0)
    assert splits.notes[0] == "1 text occurs with different labels (rows 1 and 3); kept"
    assert len(rows(splits.train)) == 5


def test_the_fingerprint_is_of_texts_and_labels_in_order() -> None:
    one = table_of(["a", "b"], ["x", "y"])
    assert fingerprint(one) == "45e7e7b0176844e5983b149980a409f6de3fb70fb4363d384711465c7b02c191"
    assert fingerprint(replace(one, source="b.csv", frame=one.frame.with_columns(row=pl.lit(3)))) == fingerprint(one)
    others = [
        table_of(["b", "a"], ["y", "x"]),
        table_of(["a", "b"], ["y", "x"]),
        table_of(["ax", "b"], ["", "y"]),
        table_of(["a", "b"], [["x", "y"], []]),
        replace(one, frame=one.frame.drop("label"), label_column=None),
    ]
    assert len({fingerprint(table) for table in [one, *others]}) == 6


@pytest.mark.parametrize(
    "wrong",
    [{"fraction": -0.1}, {"fraction": 0.6}, {"size": 1}, {"group": "g", "fraction": 0}, {"time": "d", "fraction": 0}],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ValidationConfig.model_validate(wrong)
