import csv
import json
import random
import shlex
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data.rows import iterate_rows
from glassformer.labels import mend
from glassformer.labels.truth import Truth
from glassformer.prediction.workbook_file import new_workbook
from tests.cli.terminal import glassformer, misused
from tests.labels.samples import opinions
from tests.trained import write_csv
from tests.workbooks import write_workbook

ROWS = opinions(60)
TURNED = 24


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """One label is turned, one text occurs twice, and one with both labels."""
    rows = [(text, "bad" if number == TURNED else label) for number, (text, label) in enumerate(ROWS)]
    return write_csv(tmp_path / "reviews.csv", [*rows, rows[1], (rows[2][0], "bad")])


def lines_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def test_doubts_about_a_rare_label_alone_are_said(tmp_path: Path) -> None:
    """A fifth of the texts of the frequent label have the rare one, as a model that gives it too rarely sees them."""
    good, bad = ([text for text, label in opinions(200) if label == which] for which in ("good", "bad"))
    rows = [*[(text, "good") for text in good[20:]], *[(text, "bad") for text in (*good[:20], *bad[:30])]]
    said = glassformer("labels", write_csv(tmp_path / "rare.csv", rows))
    assert said.code == 0
    assert "rows have the label 'bad', which is rarer than 'good'; a model gives rare labels too rarely" in said.err
    assert "\n  The first are most often wrong: read from the top, and stop where the labels are right.\n" in said.out


def test_look_fill_in_and_mend(table: Path, tmp_path: Path) -> None:
    said = glassformer("labels", table)
    assert said.code == 0, said.err
    findings = tmp_path / "reviews-to-check.csv"
    lines = lines_of(findings)
    assert lines[0]["row"] == str(TURNED + 1)
    assert (lines[0]["why"], lines[0]["suggested_label"], lines[0]["new_label"]) == ("doubtful label", "good", "")
    assert f"{table}: 62 rows, 2 labels" in said.out
    assert f"  row {TURNED + 1}, bad → good (probability 0." in said.out
    assert "Each row was answered by a model that had not seen it or near copies. 9" in said.out
    assert "The most frequent label has 53.2% of the rows." in said.out
    assert "  Estimate: 500 more rows of the same kind would add about " in said.out
    assert "same text, other label: 2 rows" in said.out
    assert " more, in" not in said.out
    assert f"same text: 1 row\n  row 61, {ROWS[1][1]}, as row 2: {ROWS[1][0][:20]}" in said.out
    assert "in the test table" not in said.out
    assert "The first are most often wrong" not in said.out, "three are shown"
    assert "which is rarer" not in said.err
    assert f"{findings}: {len(lines)} findings. Fill in the column new_label" in said.out
    assert f"then: glassformer labels {table} --apply {findings}" in said.err

    lines[0]["new_label"] = "good"
    repeat = next(line for line in lines if line["why"] == "same text")
    repeat["new_label"] = "drop"
    fixed = write_csv(tmp_path / "fixed.csv", [tuple(line.values()) for line in lines], tuple(lines[0]))
    said = glassformer("labels", table, "--apply", fixed)
    assert said.code == 0, said.err
    mended = tmp_path / "reviews-mended.csv"
    assert said.out == f"{mended}: 61 rows; 1 with another label than before, 1 left out\n"
    before, after = lines_of(table), lines_of(mended)
    before[TURNED]["label"] = "good"
    del before[int(repeat["row"]) - 1]
    assert after == before


@pytest.mark.usefixtures("table")
def test_the_commands_of_the_page_run_in_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "test.csv", [ROWS[5], *opinions(10, 7)])
    write_csv(tmp_path / "more.csv", [(text,) for text, _ in opinions(60, 8)], ("text",))
    page = Path(__file__).parents[2] / "docs" / "how-to" / "labels.md"
    commands = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("    glassformer")]
    assert len(commands) == 5
    for command in commands:
        to_label = tmp_path / "more-to-label.csv"
        if to_label.exists():
            pl.read_csv(to_label).with_columns(label=pl.col("suggested_label")).write_csv(to_label)
        said = glassformer(*shlex.split(command, comments=True)[1:])
        assert said.code == 0, said.err
    mended, everything = lines_of(tmp_path / "reviews-mended.csv"), lines_of(tmp_path / "all.csv")
    assert everything[: len(mended)] == mended
    assert len(everything) == len(mended) + 50


def test_json_quiet_and_other_formats(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.jsonl"
    said = glassformer("labels", table, "--out", out, "--json", "--quiet", "--prefill", "--test", table)
    assert (said.code, said.err) == (0, "")
    document = said.document
    assert document["findings"]["in the test table"] == 62
    assert document["rows"] == 62
    assert document["labels"] == ["bad", "good"]
    assert document["estimated_wrong_labels"] > 0
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(records) == sum(document["findings"].values())
    assert (records[0]["row"], records[0]["new_label"]) == (TURNED + 1, "good")
    said = glassformer("labels", table, "--apply", out, "--json", "--out", tmp_path / "new.csv")
    assert said.code == 0, said.err
    kept = 62 - said.document["dropped"]
    assert said.document["rows"] == len(lines_of(tmp_path / "new.csv")) == kept


def test_a_sheet_is_looked_at_and_mended_beside_its_workbook(table: Path, tmp_path: Path) -> None:
    rows = pl.read_csv(table).rows()
    write_workbook(tmp_path / "book.xlsx", {"May/June": [("text", "label"), *rows], "Notes": [("a",)]})
    sheet = f"{tmp_path}/book.xlsx#May/June"
    assert glassformer("labels", sheet).code == 0
    (findings,) = iterate_rows(tmp_path / "book-to-check.xlsx", rows_per_batch=1000)
    with new_workbook(tmp_path / "filled in.xlsx") as filled_in:
        filled_in.write(findings.with_columns(new_label=pl.lit("drop")).head(2))
    said = glassformer("labels", sheet, "--apply", tmp_path / "filled in.xlsx")
    assert said.code == 0, said.err
    (mended,) = iterate_rows(tmp_path / "book-mended.xlsx", rows_per_batch=1000)
    assert mended.height == len(rows) - 2


def test_separator_of_the_table_and_formulas(tmp_path: Path) -> None:
    table = tmp_path / "r.csv"
    rows = [*ROWS, ("=SUM(A1) is what they said", "good"), ("=sum(a1) is what they said", "bad")]
    pl.DataFrame(rows, schema=["text", "label"], orient="row").write_csv(table, separator=";")
    assert glassformer("labels", table, "--safe-csv").code == 0
    found = pl.read_csv(tmp_path / "r-to-check.csv", separator=";", infer_schema=False)
    formulas = found.filter(pl.col("text").str.contains("SUM"))
    assert formulas["text"].str.starts_with("'=").all()
    filled = found.with_columns(new_label=pl.when(pl.col("text").str.contains("SUM")).then(pl.lit("drop")))
    filled.write_csv(tmp_path / "filled.csv")
    said = glassformer("labels", table, "--apply", tmp_path / "filled.csv")
    assert said.code == 0, said.err
    assert "61 rows; 0 with another label than before, 1 left out" in said.out


def test_rows_of_the_test_table_are_shown(table: Path, tmp_path: Path) -> None:
    test = write_csv(tmp_path / "test.csv", [("quite another text", "good"), (f"{ROWS[7][0]} indeed", "bad"), ROWS[5]])
    said = glassformer("labels", table, "--test", test)
    assert said.code == 0, said.err
    assert f"in the test table: 1 row\n  row 6, {ROWS[5][1]}, as row 3 of the test table: " in said.out
    assert f"nearly in the test table: 1 row\n  row 8, {ROWS[7][1]}, like row 2 of the test table (simi" in said.out


def test_doubts_of_a_model_that_knows_little_come_with_a_warning(tmp_path: Path) -> None:
    draw = random.Random(3)
    rows = [(text, label if draw.random() < 0.15 else draw.choice(("good", "bad"))) for text, label in opinions(300)]
    table = write_csv(tmp_path / "r.csv", rows)
    said = glassformer("labels", table)
    assert said.code == 0, said.err
    assert "warning: this model knows little about your labels" in said.err


def test_a_model_that_knows_nothing_says_so_and_changes_nothing(tmp_path: Path) -> None:
    draw = random.Random(3)
    rows = [(text, draw.choices(("good", "bad"), (6, 4))[0]) for text, _ in opinions(300)]
    table = write_csv(tmp_path / "r.csv", rows)
    said = glassformer("labels", table, "--prefill")
    assert said.code == 0, said.err
    assert (
        "This model is not clearly better than always giving the most frequent label, so it cannot tell which rows "
        "are wrong, nor what more rows would bring: " in said.out
    )
    assert "same text, other label: 0 rows" in said.out
    assert all(words not in said.out for words in ("doubtful label", "Estimate", "more labels", "more rows of the"))
    assert "0 findings" in said.out
    document = glassformer("labels", table, "--json", "--overwrite").document
    assert (document["estimated_wrong_labels"], document["learning_curve"]) == (None, None)


def test_a_list_that_is_cut_says_so(table: Path, tmp_path: Path) -> None:
    said = glassformer("labels", table, "--test", write_csv(tmp_path / "test.csv", ROWS[5:10]))
    listed = said.out.partition("\nin the test table: 5 rows\n")[2].splitlines()
    assert listed[2].startswith("  row 8, ")
    assert listed[3] == f"  and 2 more, in {tmp_path / 'reviews-to-check.csv'}"


def test_where_rows_are_too_few_to_tell_what_more_would_bring_labels_says_so(tmp_path: Path) -> None:
    said = glassformer("labels", write_csv(tmp_path / "few.csv", opinions(40)))
    assert "\nmore labels: what they would bring cannot be told of fewer than 60 rows\n" in said.out


def test_what_more_labels_would_bring(tmp_path: Path) -> None:
    """A word without meaning says the label, and parts of the rows do not have all of these words."""
    draw = random.Random(0)
    words = ["".join(draw.choices("bcdfghklmnprstvz", k=6)) for _ in range(120)]
    chosen = draw.choices(range(120), k=300)
    rows = [(f"{words[number]} {row}", ("good", "bad")[number % 2]) for row, number in enumerate(chosen)]
    table = write_csv(tmp_path / "codes.csv", rows)
    said = glassformer("labels", table)
    assert said.code == 0, said.err
    heading, sizes, accuracies = said.out.partition("more labels: ")[2].splitlines()[:3]
    assert (heading, sizes) == ("what they would bring", "  rows learned from     30     60    120    240")
    assert "  Estimate: 1,000 more rows of the same kind would add about 6." in said.out
    found = json.loads(glassformer("labels", table, "--json", "--overwrite").out)["learning_curve"]
    assert (found["rows"], found["more"]) == ([30, 60, 120, 240], 1000)
    assert [gain.pop("more") for gain in found["gains"]] == [100, 500, 1000]
    assert found["gains"][-1] == found["gain"]
    assert f"accuracy (likely {100 * found['gain']['low']:.1f} to {100 * found['gain']['high']:.1f})." in said.out
    assert accuracies.split() == ["accuracy", *(f"{share:.1%}" for share in found["accuracies"])]


def test_where_all_are_right_more_labels_bring_nothing_to_say(tmp_path: Path) -> None:
    rows = [(f"{label * 3} {text}", label) for text, label in opinions(200)]
    said = glassformer("labels", write_csv(tmp_path / "clean.csv", rows))
    assert said.code == 0, said.err
    assert "100.0%\n\n" in said.out.partition("more labels: ")[2]
    assert "Estimate" not in said.out


def test_ctrl_c_leaves_no_file(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("glassformer.cli.labels.doing", lambda _: signal.raise_signal(signal.SIGINT))
    said = glassformer("labels", table)
    assert said.code == 130, said.err
    assert "stopped" in said.err
    assert sorted(tmp_path.iterdir()) == before


def test_nothing_to_find(tmp_path: Path) -> None:
    """The words say the label in every row."""
    rows = [(f"{word} {text}", label) for (text, label) in ROWS for word in [label * 3]]
    said = glassformer("labels", write_csv(tmp_path / "clean.csv", rows))
    assert said.code == 0, said.err
    assert "doubtful label: 0 rows" in said.out
    assert "clean-to-check.csv: 0 findings\n" in said.out
    assert "--apply" not in said.err


def test_bad_input_is_one_sentence(table: Path, tmp_path: Path) -> None:
    def refused(*given: object, says: str) -> None:
        misused(glassformer("labels", *given), says)

    refused(tmp_path / "no.csv", says="No such file")
    refused("revews", says="neither a file nor a known data set")
    refused(write_csv(tmp_path / "a.csv", ROWS[:9]), says="9 usable rows; a check of labels needs at least 10")
    refused(write_csv(tmp_path / "b.csv", [(text, "good") for text, _ in ROWS]), says="every row has the label 'good'")
    refused(write_csv(tmp_path / "c.csv", [*ROWS, ("odd", "goood")]), says="a single row: 'goood' (row 61)")
    unlabelled = write_csv(tmp_path / "d.csv", [(text,) for text, _ in ROWS], ("text",))
    refused(unlabelled, says="label")
    scores = write_csv(tmp_path / "f.csv", [(text, f"{n / 8}") for n, (text, _) in enumerate(ROWS)])
    refused(scores, "--label", "label", says="Or learn the number: --task number")
    refused(scores, "--task", "number", "--fold-labels", says="--fold-labels is for models that answer with labels")
    refused(table, "--label", "stars", says="has no column 'stars' (--label)")
    refused(table, "--out", tmp_path / "x.parquet", says="write answers as .xlsx, .csv")
    refused(table, "--out", tmp_path / "no" / "x.csv", says="there is no folder")
    refused(table, "--out", table, "--overwrite", says="is the table that is read")
    refused(table, "--out", tmp_path / "x.jsonl", "--safe-csv", says="--safe-csv is for a CSV or TSV")
    (tmp_path / "reviews-to-check.csv").write_text("mine")
    refused(table, says="is already there; choose another --out, or --overwrite to replace it")
    assert (tmp_path / "reviews-to-check.csv").read_text() == "mine"
    assert glassformer("labels", table, "--overwrite").code == 0


def test_bad_input_of_apply_is_one_sentence(table: Path, tmp_path: Path) -> None:
    def refused(*given: object, says: str, data: object = table) -> None:
        misused(glassformer("labels", data, "--apply", *given), says)

    header = ("row", "text", "label", "new_label")
    fixed = write_csv(tmp_path / "fixed.csv", [("2", ROWS[1][0], ROWS[1][1], "goodd")], header)
    refused(fixed, says="fixed.csv, row 1: 'goodd' is not a label of")
    refused(fixed, says="Did you mean 'good'?")
    refused(tmp_path / "fixd.csv", says="Near names")
    refused(table, says="has no column 'row'")
    refused(fixed, "--prefill", says="--prefill is for looking, not for --apply")
    refused(fixed, data="polarity", says="polarity is a known data set; --apply mends a table in one file")
    refused(fixed, data=tmp_path, says="is a folder; --apply mends a table in one file")
    other = write_csv(tmp_path / "other.csv", opinions(60, seed=9))
    refused(fixed, data=other, says="fixed.csv, row 1: row 2 of")
    refused(fixed, "--out", tmp_path / "x.jsonl", says="not a label")
    good = write_csv(tmp_path / "good.csv", [("2", ROWS[1][0], ROWS[1][1], "drop")], header)
    refused(good, "--out", tmp_path / "x.jsonl", says="is written as csv")
    refused(good, "--out", table, says="is already there")
    assert not (tmp_path / "reviews-mended.csv").exists()
    assert glassformer("labels", table, "--apply", good, "--out", table, "--overwrite").code == 0
    assert len(lines_of(table)) == 61


def test_a_table_that_changes_while_it_is_mended_is_not_written(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = ("row", "text", "label", "new_label")
    good = write_csv(tmp_path / "good.csv", [("2", ROWS[1][0], ROWS[1][1], "drop")], header)
    checked = mend.read_changes

    def slowly(filled_in: Path, truth: Truth) -> dict[int, str | None]:
        first, second, *others = table.read_text().splitlines()
        table.write_text("\n".join([first, *others, second]))
        return checked(filled_in, truth)

    monkeypatch.setattr(mend, "read_changes", slowly)
    misused(glassformer("labels", table, "--apply", good), f"{table} changed while it was read")
    assert not (tmp_path / "reviews-mended.csv").exists()


def test_the_current_folder_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = tmp_path / "pool"
    pool.mkdir()
    table = write_csv(tmp_path / "reviews.csv", ROWS[:40])
    write_csv(pool / "part.csv", [(text,) for text, _ in ROWS[40:]], ("text",))
    monkeypatch.chdir(pool)
    said = glassformer("labels", table, "--next", "3", ".")
    assert said.code == 0, said.err
    assert len(lines_of(tmp_path / "pool-to-label.csv")) == 3


def test_what_to_label_next(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "reviews.csv", ROWS[:40])
    texts = [*(text for text, _ in ROWS[40:]), ROWS[0][0].upper(), ROWS[41][0], "", "a lovely film and a dull play"]
    more = write_csv(tmp_path / "more.csv", [(text,) for text in texts], ("text",))
    said = glassformer("labels", table, "--next", "3", more)
    assert said.code == 0, said.err
    file = tmp_path / "more-to-label.csv"
    lines = lines_of(file)
    assert list(lines[0]) == ["row", "text", "label", "suggested_label", "probability"]
    assert [lines[0]["row"], lines[0]["text"]] == ["24", texts[23]]  # it has a word of each label
    assert len({line["row"] for line in lines}) == 3
    assert all(line["text"] == texts[int(line["row"]) - 1] and line["label"] == "" for line in lines)
    assert f"{more}: 21 texts not in {table}; 3 chosen\n  row 24: a lovely film and a dull play\n" in said.out
    assert f"{file}: 3 rows. Fill in the column 'label'" in said.out
    assert f"then: glassformer labels {table} --apply {file}\n" in said.err

    assert "  and 2 more, in " in glassformer("labels", table, "--next", "5", more, "--overwrite").out

    said = glassformer("labels", table, "--next", "50", more, "--overwrite", "--json")
    assert json.loads(said.out) == {
        "data": str(table), "unlabelled": str(more), "new_texts": 21, "chosen": 21, "out": str(file),
    }  # fmt: skip
    assert (
        "there are no more than 21 new texts" in glassformer("labels", table, "--next", "50", more, "--overwrite").err
    )


@pytest.mark.parametrize(("flags", "typed"), [((), "GOOD "), (("--multilabel", ";"), "bad;GOOD")])
def test_labels_that_were_typed_in_another_spelling_are_folded(
    flags: tuple[str, ...], typed: str, tmp_path: Path
) -> None:
    table = write_csv(tmp_path / "reviews.csv", [*ROWS[:40], ("so and so", "Good"), ("well well", "Good")])
    header = ("row", "text", "label", "suggested_label", "probability")
    added = write_csv(tmp_path / "added.csv", [("1", "not bad", typed, "good", "0.6")], header)
    changed = write_csv(
        tmp_path / "changed.csv",
        [("41", "so and so", "Good", "drop"), ("2", *ROWS[1], "GOOD")],
        ("row", "text", "label", "new_label"),
    )
    for file in (added, changed):
        given = (table, *flags, "--apply", file, "--overwrite")
        misused(glassformer("labels", *given), "is not a label of")
        said = glassformer("labels", *given, "--fold-labels")
        assert said.code == 0, said.err
        rows = lines_of(tmp_path / "reviews-mended.csv")
        if file == added:
            assert rows[-1]["label"] == typed.strip().replace("GOOD", "good")
        else:
            assert (len(rows), rows[1]["label"], rows[-1]["label"]) == (41, "good", "Good")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_rows_without_a_label_get_one_in_their_place(tmp_path: Path, kind: str) -> None:
    rows = [(text, int(label == "good") if n < 40 else None) for n, (text, label) in enumerate(ROWS)]
    frame = pl.DataFrame(rows, schema={"text": pl.String, "label": pl.Int64}, orient="row")
    table = tmp_path / f"t.{kind}"
    write: Any = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind]
    write(table)
    checked = glassformer("labels", table, "--out", tmp_path / "check.csv")
    assert f"{len(ROWS) - 40} of {len(ROWS)} rows have no label: --next 50 {table} chooses" in checked.err
    said = glassformer("labels", table, "--next", "3", table)
    assert f"{table}: {len(ROWS) - 40} texts without a label; 3 chosen" in said.out
    assert " more, in" not in said.out
    lines = lines_of(tmp_path / "t-to-label.csv")
    filled = write_csv(
        tmp_path / "filled.csv",
        [(*line.values(),) for line in (line | {"label": "1"} for line in lines)],
        tuple(lines[0]),
    )
    said = glassformer("labels", table, "--apply", filled)
    assert said.out == f"{tmp_path / f't-mended.{kind}'}: {len(ROWS)} rows; 0 of them new, 3 that had no label before\n"
    read: Any = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[kind]
    chosen = pl.Series([int(line["row"]) - 1 for line in lines])
    expected = frame.with_columns(label=frame["label"].scatter(chosen, 1))
    mended = read(tmp_path / f"t-mended.{kind}")
    assert kind == "csv" or mended.schema == frame.schema
    assert mended.cast(pl.String).fill_null("").equals(expected.cast(pl.String).fill_null(""))


def test_what_was_found_in_a_table_is_said_once(tmp_path: Path) -> None:
    lines = [f'"{text}",{label if n < 40 else ""}' for n, (text, label) in enumerate(ROWS)]
    (table := tmp_path / "t.csv").write_text("\n".join(["Survey 2025,", "text,label", *lines]), encoding="utf-8")
    (more := tmp_path / "more.csv").write_text("\n".join(["Poll,", "text,label", *lines]), encoding="utf-8")
    for pool, times in ((table, 1), (more, 2)):
        said = glassformer("labels", table, "--next", "3", pool)
        assert said.code == 0, said.err
        assert (said.err.count("left out: 1 row above the header"), said.err.count("rows are counted")) == (
            times,
            times,
        )


def test_rows_with_the_text_of_a_labelled_one_are_counted_apart(tmp_path: Path) -> None:
    rows = [(text, label if n < 40 else "") for n, (text, label) in enumerate(ROWS)]
    table = write_csv(tmp_path / "t.csv", [*rows, (ROWS[41][0].upper(), ""), rows[41], rows[42], rows[45]])
    header = ("row", "text", "label", "suggested_label", "probability")
    filled = write_csv(
        tmp_path / "filled.csv", [(f"{n}", ROWS[n][0], "good", "good", "0.6") for n in (41, 42, 43)], header
    )
    said = glassformer("labels", table, "--apply", filled)
    what = "0 of them new, 6 that had no label before: the 3 you labelled, 3 more with the same texts"
    assert said.out == f"{tmp_path / 't-mended.csv'}: 64 rows; {what}\n"


def test_texts_that_were_labelled_are_added(tmp_path: Path) -> None:
    """Columns that both tables have go along. Rows without a label and known texts do not."""
    header = ("id", "text", "label", "Shop", "row", "mine")
    rows = [(str(n), text, label, "Ulm", "old", "x") for n, (text, label) in enumerate(ROWS[:40])]
    table = write_csv(tmp_path / "reviews.csv", rows, header)
    more = write_csv(
        tmp_path / "more.csv",
        [("Bonn", "=1+1" if n == 0 else text, f"n{n}") for n, (text, _) in enumerate(ROWS[40:])],
        ("shop", "Text", "id"),
    )
    said = glassformer("labels", table, "--next", "5", more, "--safe-csv")
    assert said.code == 0, said.err
    lines = lines_of(tmp_path / "more-to-label.csv")
    assert list(lines[0]) == ["row", "text", "label", "suggested_label", "probability", "id", "Shop"]
    assert "'=1+1" in [line["text"] for line in lines]
    for line, label in zip(lines, (" good ", "bad", "", "drop", "bad"), strict=True):
        line["label"] = label
    lines.append(lines[0] | {"text": ROWS[0][0].upper()})
    filled = write_csv(tmp_path / "filled.csv", [tuple(line.values()) for line in lines], tuple(lines[0]))
    said = glassformer("labels", table, "--apply", filled)
    assert said.code == 0, said.err
    mended = tmp_path / "reviews-mended.csv"
    assert said.out == f"{mended}: 43 rows; 3 of them new\n"
    assert "do not measure a model with the rows that --next chose: they are harder" in said.err
    assert f"{filled}: 1 row without a label left out (row 3)\n" in said.err
    assert f"{filled}: 1 row with 'drop' as the label left out (row 4)\n" in said.err
    assert f"{filled}: 1 row whose text {table} already has left out (row 6)\n" in said.err
    before, after = lines_of(table), lines_of(mended)
    assert after[:40] == before
    for line, label, added in zip((lines[0], lines[1], lines[4]), ("good", "bad", "bad"), after[40:], strict=True):
        own = {"id": line["id"], "text": line["text"].removeprefix("'"), "label": label, "Shop": "Bonn"}
        assert added == own | {"row": "", "mine": ""}
        assert int(line["row"]) == int(line["id"].removeprefix("n")) + 1
    said = glassformer("labels", mended, "--next", "50", more, "--overwrite", "--json")
    assert json.loads(said.out)["new_texts"] == 17
    said = glassformer("labels", table, "--apply", filled, "--overwrite", "--json")
    figures = {"rows": 43, "relabelled": 0, "dropped": 0, "added": 3, "left_out": 3}
    assert json.loads(said.out) == {"data": str(table), "out": str(mended), **figures}


def test_bad_labels_of_new_texts_are_one_sentence(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "reviews.csv", ROWS[:40])
    header = ("row", "text", "label", "suggested_label", "probability")

    def refused(*lines: tuple[str, str], says: str, header: tuple[str, ...] = header) -> None:
        file = write_csv(tmp_path / "filled.csv", [("1", *line, "good", "0.6") for line in lines], header)
        misused(glassformer("labels", table, "--apply", file), says)
        assert not (tmp_path / "reviews-mended.csv").exists()

    refused(("new", "good"), ("newer", "goodd"), says="filled.csv, row 2: 'goodd' is not a label of")
    refused(("new", "goodd"), says="Did you mean 'good'?")
    refused(("new", "mixed"), says="Known: 'bad', 'good'; drop leaves out the row. If it is a new class, first add a")
    refused(("new", ""), ("newer", " "), says="nothing to add; 2 rows without a label left out (rows 1 and 2)")
    refused((ROWS[1][0], "good"), says="nothing to add; 1 row whose text")
    refused(("new", "good"), ("NEW", "bad"), says="row 2 has the text of row 1 and another label; decide for one")
    both = "row 1: 'goodd' is not a label of", "row 3 has the text of row 2 and another label; decide for one"
    for says in both:
        refused(("newer", "goodd"), ("new", "good"), ("NEW", "bad"), says=says)
    refused(("new", "good"), says="has no column 'text', which", header=("row", "texts", *header[2:]))
    refused(("new", "good"), says="of a file of texts to label", header=("row", "text", "labels", *header[3:]))


@pytest.mark.parametrize(("flags", "given"), [((), "mixed"), (("--multilabel", ";"), "good;mixed")])
def test_a_new_class_begins_with_a_row_in_the_table(flags: tuple[str, ...], given: str, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "reviews.csv", [*ROWS[:40], ("so and so", "mixed")])
    filled = write_csv(
        tmp_path / "filled.csv", [("1", "not bad", given, "good", "0.6")],
        ("row", "text", "label", "suggested_label", "probability"),
    )  # fmt: skip
    said = glassformer("labels", table, *flags, "--apply", filled)
    assert said.code == 0, said.err
    assert lines_of(tmp_path / "reviews-mended.csv")[-1] == {"text": "not bad", "label": given}


def test_misuse_of_next_is_one_sentence(table: Path, tmp_path: Path) -> None:
    def refused(*given: object, says: str) -> None:
        misused(glassformer("labels", table, "--next", *given), says)

    more = write_csv(tmp_path / "more.csv", [("a new text",), ("another one",)], ("text",))
    refused("0", more, says=f"--next 0: give a number of texts, such as --next 50 {more}")
    alone = glassformer("labels", table, "--next", "50")
    assert (alone.code, alone.err) == (2, "Error: --next: give a number and a table, as in --next 50 more.csv\n")
    refused("5", tmp_path / "no.csv", says="No such file")
    refused("5", write_csv(tmp_path / "old.csv", [(ROWS[0][0],)], ("text",)), says="all texts are already in")
    refused("5", more, "--prefill", says="--prefill is for looking, not for --next")
    refused("5", more, "--out", more, "--overwrite", says="is the table that is read")
    refused("5", more, "--apply", more, says="--next is for looking, not for --apply")


def test_rows_of_two_texts_and_a_column(tmp_path: Path) -> None:
    rows = [(f"what of {text[-25:]}", text, str(number % 9), label) for number, (text, label) in enumerate(ROWS)]
    header = ("question", "the answer", "a, b", "label")
    table = write_csv(tmp_path / "pairs.csv", [*rows, rows[1]], header)
    read_as = ("--text", "question", "--text", "the answer", "--columns", '"a, b"')
    said = glassformer("labels", table, *read_as)
    assert said.code == 0, said.err
    assert "column 'a, b': numbers, in 9 quantiles" in said.err
    flags = """--text question --text 'the answer' --columns '"a, b"'"""
    findings = tmp_path / "pairs-to-check.csv"
    assert f"then: glassformer labels {table} {flags} --apply {findings}\n" in said.err
    [repeat] = [line for line in lines_of(findings) if line["why"] == "same text"]
    assert repeat["text"] == f"{rows[1][0]} | {rows[1][1]} [a, b=1 to 2]"

    fixed = write_csv(tmp_path / "fixed.csv", [(*list(repeat.values())[:-1], "drop")], tuple(repeat))
    said = glassformer("labels", table, *read_as, "--apply", fixed)
    assert said.out.endswith("-mended.csv: 60 rows; 0 with another label than before, 1 left out\n")
    said = glassformer("labels", table, "--text", "question", "--apply", fixed, "--overwrite")
    misused(said, "row 61 of", "has another text", "or --text and --columns are not those of the check")

    more = write_csv(tmp_path / "more.csv", [("why so", "it is lovely", "3"), rows[2][:3]], header[:3])
    said = glassformer("labels", table, *read_as, "--next", "5", more)
    assert said.code == 0, said.err
    [line] = lines_of(tmp_path / "more-to-label.csv")
    assert list(line) == ["row", *header, "suggested_label", "probability"]
    assert (line["row"], line["question"], line["the answer"], line["a, b"]) == ("1", "why so", "it is lovely", "3")
    assert "  row 1: why so | it is lovely [a, b=3 to 4]" in said.out
    filled = write_csv(tmp_path / "filled.csv", [tuple((line | {"label": "good"}).values())], tuple(line))
    said = glassformer("labels", table, *read_as, "--apply", filled, "--overwrite")
    assert said.out.endswith("-mended.csv: 62 rows; 1 of them new\n")
    assert list(lines_of(tmp_path / "pairs-mended.csv")[-1].values()) == ["why so", "it is lovely", "3", "good"]
    less = write_csv(tmp_path / "less.csv", [("why so", "it is lovely")], header[:2])
    misused(glassformer("labels", table, *read_as, "--next", "5", less), "less.csv has no column 'a, b', which")
