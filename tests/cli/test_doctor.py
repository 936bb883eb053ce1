import json
import re
from pathlib import Path

import pytest

from tests.cli.terminal import glassformer, misused
from tests.trained import NEGATIVE, POSITIVE, Trained, review_rows, write_csv


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "reviews.csv", review_rows(230))


def test_findings_are_listed_by_level_and_nothing_is_written(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(table.parent)
    said = glassformer("doctor", table, "--preset", "tiny", "--set", "validation.min_rows=200")
    assert said.code == 0
    assert said.out.startswith(f"{table}: 207 rows to train on; 1 block of width 64")
    places = [said.out.index(f"\n{level}: ") for level in ("problem", "worth knowing", "good")]
    assert places == sorted(places)
    named = re.search(r"^good: (.*) \(--json shows the figures\)$", said.out, flags=re.MULTILINE)
    assert named is not None
    assert {"first loss", "label balance", "duplicates"} <= {*named[1].split(", ")}
    assert "checking the vocabulary" in said.err
    assert list(table.parent.iterdir()) == [table]


def test_problems_are_reported_with_exit_code_0(tmp_path: Path) -> None:
    rows = [(f"text {number}", "rare" if number % 25 == 0 else "usual") for number in range(250)]
    table = write_csv(tmp_path / "uneven.csv", rows)
    out = tmp_path / "report"
    said = glassformer("doctor", table, "--preset", "tiny", "--set", "model.max_seq_len=2", "--json", "--out", out)
    assert said.code == 0
    problems = {finding["check"] for finding in said.document["findings"] if finding["level"] == "problem"}
    assert {"label balance", "length of texts"} <= problems
    assert {path.name for path in out.iterdir()} == {"report.html", "findings.json"}


def test_columns_and_separators_are_those_of_train(tmp_path: Path) -> None:
    rows = [("good film", "pos;film"), ("bad film", "neg;film"), ("good book", "pos"), ("nothing", "")] * 30
    table = write_csv(tmp_path / "tags.csv", [(*row, "x") for row in rows], ("words", "tags", "else"))
    said = glassformer(
        "doctor", table, "--text", "words", "--label", "tags", "--multilabel", ";", "--preset", "tiny", "--json"
    )
    assert said.code == 0
    assert any("3 labels, on" in finding["found"] for finding in said.document["findings"])


def test_weights_and_seed_are_those_of_train(table: Path, reviews: Trained) -> None:
    said = glassformer("doctor", table, "--init", reviews.folder, "--seed", 5, "--json")
    assert said.code == 0, said.err
    assert said.document["weights"] == f"weights: {reviews.folder}, the head too"
    assert said.document["model"].startswith("1 block of width 64")  # that of the weights, not the default
    other = glassformer("doctor", table, "--init", reviews.folder, "--seed", 6, "--json")
    losses = [outcome.document["figures"]["overfit"][0] for outcome in (said, other)]
    assert losses[0] != losses[1]  # other texts are chosen
    misused(glassformer("doctor", table, "--init", reviews.folder, "--preset", "base"), "preset 'base'")


def test_the_weights_are_named(table: Path, reviews: Trained) -> None:
    said = glassformer("doctor", table, "--init", reviews.folder)
    assert re.search(rf"^.*parameters; weights: {reviews.folder}, the head too$", said.out, flags=re.MULTILINE)


def test_a_folder_of_anything_else_is_refused_before_the_table_is_read(reviews: Trained, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.touch()
    misused(glassformer("doctor", empty, "--out", reviews.table), f"{reviews.table} is a file; name a folder")
    misused(glassformer("doctor", empty, "--out", reviews.folder), "with other files in it; choose an --out")


def test_an_earlier_report_is_replaced_only_if_asked(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "up"
    out.mkdir()
    earlier = out / "findings.json"
    earlier.write_text("{}")
    misused(glassformer("doctor", earlier, "--out", out), "holds an earlier report", "--overwrite to replace it")
    assert earlier.read_text() == "{}"
    assert glassformer("doctor", table, "--preset", "tiny", "--out", out, "--overwrite").code == 0
    assert {path.name for path in out.iterdir()} == {"report.html", "findings.json"}
    assert json.loads(earlier.read_text())["rows"] == 230


def test_a_number_of_two_texts_and_columns_is_checked(tmp_path: Path) -> None:
    rows = [
        (f"is film {row} good", f"{word} film {row}", str(row % 20 / 2) if row % 9 else "", f"shop {row % 3}", score)
        for row in range(66)
        for word, score in [(("fine", "4.5"), ("poor", "1.25"))[row % 2]]
    ]
    table = write_csv(tmp_path / "pairs.csv", rows, ("question", "answer", "price", "shop", "score"))
    how = ("--text", "question", "--text", "answer", "--columns", "price,shop", "--target", "score")
    out = tmp_path / "up"
    said = glassformer("doctor", table, *how, "--preset", "tiny", "--out", out)
    assert said.code == 0, said.err
    assert "task: a number (column 'score' holds decimal numbers)" in said.err
    assert "column 'shop': 3 categories" in said.err
    page = (out / "report.html").read_text()
    assert "2 different numbers from 1.25 to 4.5, mean 2.875" in page
    assert "; always answering the mean gives 0.5" in page  # standardised, half the squared error
    assert "tokens by number" in said.out
    assert "label" not in said.out
    assert "Tokens by number" in page
    misused(glassformer("doctor", table, *how, "--fold-labels"), "leave it out to learn a number")


def test_ordered_classes_are_checked_in_their_order(table: Path) -> None:
    said = glassformer(
        "doctor", table, "--order", f'"{NEGATIVE}",{POSITIVE}', "--preset", "tiny", "--set", "model.head=ordered"
    )
    assert said.code == 0, said.err
    assert "label balance" in said.out
    misused(glassformer("doctor", table, "--order", "bad,good"), f"lacks the label {POSITIVE!r}")
    misused(glassformer("doctor", table, "--target", "label", "--label", "label"), "--target and --label")


def test_misuse(table: Path, tmp_path: Path) -> None:
    misused(glassformer("doctor", tmp_path / "nowhere.csv"), "nowhere.csv")
    misused(glassformer("doctor", table, "--recipe", "nonsense"), "nonsense")
    misused(glassformer("doctor", table, "--init", tmp_path / "none"), "no such model folder")
    misused(glassformer("doctor", table, "--set", "model.d_model=65"), "d_model=65")
    misused(glassformer("doctor", write_csv(tmp_path / "one.csv", [("a b", "x")] * 5)), "every row has the label")


def test_the_rows_are_those_that_train_takes(table: Path, tmp_path: Path) -> None:
    rows = review_rows(230)
    test, valid = write_csv(tmp_path / "test.csv", rows[:30]), write_csv(tmp_path / "valid.csv", rows[30:50])
    out = ("--preset", "tiny", "--test", test, "--validation", valid)
    trained = glassformer("train", table, *out, "--epochs", 0, "--out", tmp_path / "m").err
    assert f"data: {table}, 180 rows to train on" in trained
    assert glassformer("doctor", table, *out).out.startswith(f"{table}: 180 rows to train on; ")


def test_groups_are_kept_together(tmp_path: Path) -> None:
    rows = [(text, label, f"author {number % 9}") for number, (text, label) in enumerate(review_rows(230))]
    table = write_csv(tmp_path / "t.csv", rows, header=("text", "label", "author"))
    said = glassformer("doctor", table, "--preset", "tiny", "--group", "author").out
    assert not said.startswith(f"{table}: 207 rows")
