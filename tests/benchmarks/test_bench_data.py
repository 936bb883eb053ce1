import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.bench_data import ENTRIES, FILES, OF_TRIAL, Entry, cut_rows, hold_out_fifth, table_with_typos
from glassformer.data.table import Table, read_table
from glassformer.errors import UsageError

WORDS = ("amber", "basil", "cedar", "delta", "ember", "flint", "grove", "heron")


def write_rows(file: Path, n_rows: int, first: int = 0) -> None:
    """A third of the rows is `no`. The texts of all rows differ."""
    numbers = range(first, first + n_rows)
    texts = [" ".join([WORDS[i % 8], WORDS[i // 8 % 8], WORDS[i // 64 % 8], str(i)]) for i in numbers]
    file.parent.mkdir(exist_ok=True)
    pl.DataFrame({"text": texts, "label": ["no" if i % 3 == 0 else "yes" for i in numbers]}).write_parquet(file)


@pytest.fixture
def trec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Training rows alone, in the place of a data set: to read its test rows is an error."""
    monkeypatch.setenv("GLASSFORMER_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_rows(tmp_path / "trec" / "train.parquet", 600)
    return tmp_path


def entry(data: str = "trec", rows: int | None = None, noise: float = 0.0, typos: float = 0.0) -> Entry:
    return Entry(name="a", data=data, rows=rows, noise=noise, typos=typos, minutes=1)


def texts(table: Table) -> list[str]:
    return table.frame["text"].to_list()


def test_names_are_unique_and_say_what_is_done() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    assert {entry.name for entry in ENTRIES} >= set(OF_TRIAL)
    for line in ENTRIES:
        assert line.name.startswith(line.data)
        assert ("noise" in line.name, "typos" in line.name) == (line.noise > 0, line.typos > 0)
        assert line.rows is None or line.name.endswith(re.sub("000$", "k", str(line.rows)))


@pytest.mark.usefixtures("trec")
def test_a_fifth_of_the_training_rows_is_held_out_and_no_test_row_is_read() -> None:
    first, again, other = (cut_rows(entry(), seed, test=False) for seed in (0, 0, 1))
    assert (first.train.frame.height, first.held_out.frame.height) == (480, 120)
    assert not set(texts(first.train)) & set(texts(first.held_out))
    assert (first.held_out.frame["label"] == "no").sum() == 40
    assert texts(again.train) == texts(first.train)
    assert texts(other.held_out) != texts(first.held_out)
    with pytest.raises(UsageError, match=r"trec/test.parquet is in none of .*GLASSFORMER_DATA"):
        cut_rows(entry(), 0, test=True)


def test_all_training_rows_and_the_test_rows_but_not_what_they_share(trec: Path) -> None:
    write_rows(trec / "trec" / "test.parquet", 50, first=590)
    cut = cut_rows(entry(), 3, test=True)
    assert (cut.train.frame.height, cut.held_out.frame.height) == (590, 50)


def test_a_table_without_test_rows_has_the_same_ones_with_every_seed(trec: Path) -> None:
    write_rows(trec / "customer-reviews" / "all.parquet", 200)
    tests = [cut_rows(entry("customer-reviews"), seed, test=True) for seed in (0, 1)]
    assert texts(tests[0].held_out) == texts(tests[1].held_out)
    assert [(cut.train.frame.height, cut.held_out.frame.height) for cut in tests] == [(160, 40)] * 2
    for seed in range(3):
        assert not set(texts(cut_rows(entry("customer-reviews"), seed, test=False).held_out)) & set(
            texts(tests[0].held_out)
        )


@pytest.mark.usefixtures("trec")
def test_a_subset_keeps_the_shares_of_the_classes_and_is_another_with_another_seed() -> None:
    cuts = [cut_rows(entry(rows=90), seed, test=False) for seed in (0, 1)]
    for cut in cuts:
        assert Counter(cut.train.frame["label"]) == {"no": 30, "yes": 60}
        assert cut.held_out.frame.height == 120
    assert set(texts(cuts[0].train)) != set(texts(cuts[1].train))
    assert cut_rows(entry(rows=9_000), 0, test=False).train.frame.height == 480
    assert cut_rows(entry(), 0, test=False, quick=True).train.frame.height == 300


@pytest.mark.usefixtures("trec")
def test_noise_changes_labels_of_training_rows_alone() -> None:
    clean, noisy = (cut_rows(entry(noise=noise), 0, test=False) for noise in (0.0, 0.2))
    assert (clean.train.frame["label"] != noisy.train.frame["label"]).sum() == 96  # a fifth of 480, all of them changed
    assert texts(noisy.train) == texts(clean.train)
    assert noisy.held_out.frame.equals(clean.held_out.frame)


@pytest.mark.usefixtures("trec")
def test_typos_are_in_a_share_of_the_words_of_both_tables() -> None:
    clean, typed = (cut_rows(entry(typos=typos), 0, test=False) for typos in (0.0, 0.5))
    for before, after in ((clean.train, typed.train), (clean.held_out, typed.held_out)):
        words, changed = (" ".join(texts(table)).split() for table in (before, after))
        pairs = list(zip(words, changed, strict=True))
        assert 0.4 < sum(a != b for a, b in pairs if a.isalpha()) / sum(a.isalpha() for a in words) < 0.6
        assert all(a == b for a, b in pairs if not a.isalpha())
        lengths = {len(b) - len(a) for a, b in pairs if a != b}
        assert lengths == {-1, 0, 1}  # lost, changed places, doubled
        assert all(Counter(a) == Counter(b) for a, b in pairs if len(a) == len(b))


def test_a_typo_changes_one_place(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.parquet", 100)
    table = read_table(tmp_path / "a.parquet")
    for before, after in zip(texts(table), texts(table_with_typos(table, 1.0, np.random.default_rng(0))), strict=True):
        for a, b in zip(before.split(), after.split(), strict=True):
            same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a) - 1)
            assert a[same + 2 :] == b[same + 2 + len(b) - len(a) :]


def test_at_most_so_many_rows_are_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.bench_data.MOST_HELD_OUT", 7)
    write_rows(tmp_path / "a.parquet", 100)
    kept, held_out = hold_out_fifth(read_table(tmp_path / "a.parquet"), 0)
    assert (kept.frame.height, held_out.frame.height) == (93, 7)


def test_every_file_that_is_read_by_name_is_of_an_entry() -> None:
    assert FILES.keys() <= {entry.data for entry in ENTRIES}
