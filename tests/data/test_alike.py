"""A column that looks like groups is named, and a category is not."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassformer.data import table as table_module
from glassformer.data.alike import shared_values
from glassformer.data.splits import ValidationConfig, make_splits
from glassformer.data.table import read_table
from tests.cli.terminal import QUICK, glassformer

ROWS = 400
NUMBER = np.random.default_rng(0)
FILM = np.sort(NUMBER.geometric(0.012, ROWS))  # many films, some of them with one row
LIKED = NUMBER.random(FILM.max() + 1) < 0.5
LABELS = pl.Series(np.where(LIKED[FILM] ^ (NUMBER.random(ROWS) < 0.1), "good", "bad"))
CHANCE = pl.Series(NUMBER.choice(["good", "bad"], ROWS))


def found(values: object, labels: pl.Series = LABELS, name: str = "column") -> bool:
    return shared_values(pl.DataFrame({name: values}), [name], labels) is not None


def named(values: np.ndarray, word: str = "value") -> list[str]:
    return [f"{word} {value}" for value in values]


def test_many_values_whose_rows_have_one_label() -> None:
    assert found(named(FILM))
    assert found([f"film{value}@example.org" for value in FILM])
    assert found(named(FILM), pl.Series([[label, "x"] for label in LABELS])), "several labels"
    assert not found(named(FILM), CHANCE), "rows of a value are no more alike than others"
    assert found(FILM, name="film_id")
    assert not found(FILM, name="length"), "a number is no group"


def test_categories_dates_and_ids_are_no_groups() -> None:
    keyword = FILM % 40  # closed: no new row has a new one
    assert not found(named(keyword), pl.Series(np.where(keyword % 2, "good", "bad")))
    assert not found(["DE", "AT"] * 200, LABELS)
    assert not found([f"2024-01-{1 + value % 28:02}" for value in FILM])
    assert not found(named(np.arange(ROWS))), "no row has the value of another"
    assert not found([None] * ROWS)
    assert not found(named(FILM), pl.Series(named(FILM))), "a finer label"


@pytest.mark.parametrize(
    "name", ["customer", "customer_id", "userName", "review author id", "id_cliente", "Kundennummer", "客户"]
)
def test_people_are_known_by_their_name(name: str) -> None:
    person = np.arange(ROWS) // 10
    assert found(named(person), CHANCE, name)
    assert found(person, CHANCE, name)
    assert not found(named(person % 3), CHANCE, name), "few values are a category"
    assert not found(named(np.arange(ROWS)), CHANCE, name)


@pytest.mark.parametrize("name", ["age of author", "rating_by_user", "starsUser", "review author"])
def test_a_whole_number_that_is_told_of_a_person_is_none(name: str) -> None:
    told = np.arange(ROWS) // 10
    assert not found(told, CHANCE, name)
    assert found(named(told), CHANCE, name)


@pytest.mark.parametrize("name", ["customer type", "user_age", "authority", "patience"])
def test_what_is_said_of_people_is_no_person(name: str) -> None:
    assert not found(np.arange(ROWS) // 10, CHANCE, name)


def test_train_says_it_unless_rows_are_held_out_in_another_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"text": [f"text {row}" for row in range(ROWS)], "label": LABELS, "customer": named(FILM)})
    table.write_csv(tmp_path / "t.csv")
    said = glassformer("train", tmp_path / "t.csv", "--out", tmp_path / "m", *QUICK, "--set", "training.epochs=0")
    assert (
        f"rows share values of the column 'customer' ({len(set(FILM))} in {ROWS} rows): if rows of one are " in said.err
    )
    assert "figures may be too good; --group customer holds them out together" in said.err
    read = read_table(tmp_path / "t.csv", time=None)
    assert read.shared in make_splits(read, ValidationConfig(), seed=0).notes
    assert read.shared not in make_splits(read, ValidationConfig(fraction=0), seed=0).notes
    monkeypatch.setattr(table_module, "ROWS_PER_BATCH", ROWS // 2)
    first = f"({len(set(FILM[: ROWS // 2]))} in the first {ROWS // 2} rows)"
    assert first in str(read_table(tmp_path / "t.csv", time=None).shared)
    monkeypatch.undo()
    assert read_table(tmp_path / "t.csv", time=None, group="customer").shared is None
    assert read_table(tmp_path / "t.csv").shared is None, "nothing is learned"
