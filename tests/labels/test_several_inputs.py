"""Labels of rows with two texts, and with columns beside them."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassformer.data.sources import SourceConfig, read_sources
from glassformer.data.splits import ValidationConfig
from glassformer.data.table import Table
from glassformer.labels.check import check_table
from glassformer.labels.findings import CONFLICT, DOUBTFUL, IN_TEST, NEAR_CONFLICT, NEAR_REPEAT, REPEAT, LabelCheck
from glassformer.labels.repeats import Repeats
from glassformer.labels.truth import truth_of
from tests.labels.samples import opinions

ROWS = opinions(60)
LONG = "a question of about forty characters, or more"


def checked(tmp_path: Path, rows: list[tuple[str, str, str, str]], *columns: str) -> tuple[LabelCheck, Table]:
    names = ("question", "answer", "shop", "label")
    path = tmp_path / "rows.parquet"
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(path)
    source = SourceConfig(
        train=str(path), test=str(path), text="question", other_texts=("answer",), label="label", columns=columns
    )
    sources = read_sources(source, ValidationConfig(), None)
    return check_table(truth_of(sources.train), sources.test), sources.train


def found(check: LabelCheck, why: str) -> list[tuple[int, int | None]]:
    return list(check.of_kind(why).select("row", "other_row").iter_rows())


def ordinary() -> list[tuple[str, str, str, str]]:
    return [(f"what of {text[-25:]}", text, ("Ulm", "Bonn")[row % 2], label) for row, (text, label) in enumerate(ROWS)]


def test_a_turned_label_is_found_by_the_second_text(tmp_path: Path) -> None:
    rows = ordinary()
    rows[24] = (*rows[24][:3], "bad")
    check, _ = checked(tmp_path, rows)
    assert check.of_kind(DOUBTFUL)["row"][0] == 25
    assert check.findings["text"][0] == f"{rows[24][0]} | {rows[24][1]}"


def test_all_texts_must_be_the_same(tmp_path: Path) -> None:
    first = ordinary()[0]
    rows = [*ordinary(), (first[0], "another answer", "Ulm", "good"), (first[1], first[0], "Ulm", "good"), first]
    check, _ = checked(tmp_path, rows)
    assert found(check, REPEAT) == [(63, 1)]
    assert found(check, IN_TEST) == [(row, min(row, 1 if row == 63 else row)) for row in range(1, 64)]


def test_labels_contradict_each_other_only_if_the_columns_are_equal(tmp_path: Path) -> None:
    rows = [
        *ordinary(),
        (LONG, "yes indeed", "Ulm", "good"), (LONG, "yes indeed", "Bonn", "bad"),  # the shop may decide
        (LONG, "yes, of course", "Ulm", "good"), (LONG, "yes, of course", "Ulm", "bad"),
        (f"{LONG}, or less", "yes indeed", "Bonn", "good"), (f"{LONG}, or less", "yes indeed", "Ulm", "good"),
    ]  # fmt: skip
    check, _ = checked(tmp_path, rows, "shop")
    assert found(check, CONFLICT) == [(63, 64), (64, 63)]
    near = {(row, other) for row, other in found(check, NEAR_CONFLICT)}
    assert (62, 65) in near
    assert (61, 62) not in near
    assert check.findings.filter(pl.col("row") == 64)["text"][0] == f"{LONG} | yes, of course [shop=Ulm]"
    without, _ = checked(tmp_path, rows)
    assert {(61, 62), (62, 61)} <= set(found(without, CONFLICT))
    assert found(check, REPEAT) == []
    assert all(other != row for row, other in found(check, NEAR_REPEAT))


@pytest.mark.parametrize("values", [[("a",), ("a",), ("b",), ("b",), ("a",)]])
def test_rows_apart_by_value(values: list[tuple[str]]) -> None:
    long = "a long text, which another one is nearly the same as"
    repeats = Repeats.of([long, f"{long}!", f"{long}!", "else", long])
    assert repeats.text_of_row.tolist() == [0, 1, 1, 2, 0]
    apart = repeats.by_value(values)
    assert apart.text_of_row.tolist() == [0, 1, 2, 3, 0]
    assert list(zip(apart.pairs.first, apart.pairs.second, strict=True)) == [(0, 1)]
    assert apart.pairs.similarity == pytest.approx(repeats.pairs.similarity)
    assert len(np.unique(repeats.groups(1))) == 2  # rows of one text stay together, whatever their columns


def test_without_near_texts_nothing_is_apart() -> None:
    assert len(Repeats.of(["one", "another"]).by_value([(), ()]).pairs.first) == 0
