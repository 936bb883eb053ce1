import csv
import gzip
import json
import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassformer.cli import output
from glassformer.explanation.by_reader import METHODS
from glassformer.readers.body import vectors
from glassformer.readers.body.reader import BodyReader, Origin
from glassformer.readers.body.vectors import Body, body_folder
from tests.cli.terminal import QUICK, glassformer, misused
from tests.trained import POSITIVE, Trained, review_rows, write_csv

PADDED = ("weights", "values")
TEXT = "a dull play, but a good film"


def numbers(line: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in re.findall(r"[+−]?\d+\.\d\d", line)]


def test_the_shares_of_the_words_add_up(reviews: Trained) -> None:
    outcome = glassformer("explain", reviews.folder, TEXT)
    assert outcome.code == 0
    first, _, text, _, heading, *lines = outcome.out.splitlines()
    assert re.fullmatch(r".+ \(\d+\.\d%\), rather than .+", first)
    assert text == TEXT
    assert heading.split() == ["counting", "body", "both"]
    shares = [numbers(line)[-1] for line in lines if numbers(line)]
    assert lines[len(shares) - 1].startswith("sum")
    assert sum(shares[:-1]) == pytest.approx(shares[-1], abs=0.05)


def test_json_holds_every_word(reviews: Trained) -> None:
    found = glassformer("explain", reviews.folder, TEXT, "--json").document
    assert [TEXT[word["start"] : word["end"]] for word in found["words"]] == [word["word"] for word in found["words"]]
    parts = sum(word["total"] for word in found["words"]) + found["without_known_words"] + found["unexplained"]
    assert parts == pytest.approx(found["margin"], abs=1e-5)


def test_a_page_is_written(reviews: Trained, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    assert glassformer("explain", reviews.folder, "good <b>film</b>", "--html", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "&lt;" in text
    assert "<b>" not in text


def test_words_are_painted_only_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pieces = [output.Piece("good\x1b[2J", "strongly for"), output.Piece(" film", "plain")]
    output.show_painted(pieces)
    assert capsys.readouterr().out == "good\ufffd[2J film"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    output.show_painted(pieces)
    assert capsys.readouterr().out == "\x1b[1;97;44mgood\ufffd[2J\x1b[0m film"
    for variable, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patched:
            patched.setenv(variable, value)
            output.show_painted(pieces)
        assert "\x1b" not in capsys.readouterr().out, variable


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([" "], "the text is empty; give one with words"),
        ([TEXT, "--label", "superb"], "--label superb: the model has no such label; it has "),
        ([TEXT, "--method", "magic"], "--method magic: no such method; choose from shapley, integrated-gradients, "),
    ],
)
def test_what_cannot_be_explained(arguments: list[str], says: str, reviews: Trained) -> None:
    misused(glassformer("explain", reviews.folder, *arguments), says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give a text or --file TABLE"),
        (["--text", TEXT], "a text needs no flag"),
        ([TEXT, "--file", "t.csv"], "not both"),
        ([TEXT, "--out", "t.csv"], "--out goes with --file"),
        (["--file", "t.csv", "--heads"], "--heads goes with a text"),
        (["--file", "t.csv", "--nearest"], "--nearest goes with a text"),
        (["--file", "t.csv", "--out", "reasons.parquet"], "write answers as .xlsx, .csv"),
        (["--file", "t.csv", "--json"], "--json summarises what --out holds; add --out FILE.jsonl"),
        (["--file", "t.csv", "--overwrite"], "--overwrite goes with --out; leave it out"),
        ([TEXT, "--safe-csv"], "--safe-csv goes with --file"),
        (["--file", "t.csv", "--out", "reasons.jsonl", "--safe-csv"], "--safe-csv is for reasons as CSV or TSV"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], says: str, reviews: Trained) -> None:
    misused(glassformer("explain", reviews.folder, *arguments), says)


def test_a_text_comes_from_standard_input(reviews: Trained) -> None:
    read = glassformer("explain", reviews.folder, "-", stdin=b"a dull play\nbut a good film\n")
    assert read.out == glassformer("explain", reviews.folder, "a dull play\nbut a good film").out


def test_notes_on_what_was_asked_for(reviews: Trained) -> None:
    alone = glassformer("explain", reviews.folder, TEXT, "--heads", "-q").err
    assert "the model answers by counting and the body alone, so there is nothing to show for --heads" in alone
    exact = glassformer("explain", reviews.folder, TEXT, "--method", "occlusion").err
    assert "by counting and the body alone, whose shares are exact, so --method changes nothing" in exact
    no_such = glassformer("explain", reviews.folder, TEXT, "--method", "magic").err
    assert "changes nothing" not in no_such
    a_file = glassformer("explain", reviews.folder, reviews.table).err
    assert f"{reviews.table} is a file, but it was read as a text; --file {reviews.table} explains" in a_file
    assert "the text is unlike the training data" in a_file
    assert "unlike" not in glassformer("explain", reviews.folder, review_rows(230)[0][0]).err


def test_the_words_that_the_body_takes_for_alike_are_shown(reviews: Trained, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    outcome = glassformer("explain", reviews.folder, TEXT, "--neighbours", "--html", page)
    near = [word for word, _ in Body.load(body_folder("english")).nearest("good")]
    assert re.search(rf"^Nearest words in the body:\n(.+\n)*?good +{', '.join(near)}$", outcome.out, re.MULTILINE)
    assert "embeddings" not in outcome.out  # the transformer is not asked
    assert f"{near[0]} 0." in page.read_text(encoding="utf-8").partition("Nearest words in the body")[2]
    found = json.loads(glassformer("explain", reviews.folder, TEXT, "--neighbours", "--json").out)
    assert [each["word"] for each in found["near_in_body"]["good"]] == near
    assert found["near_before"] is None


def test_a_body_that_is_not_there_any_more_is_said(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "SHIPPED", tmp_path)
    outcome = glassformer("explain", reviews.folder, TEXT, "--neighbours")
    assert "the model holds no vectors of these words, so there is nothing to show for --neighbours" in outcome.err
    assert "Nearest" not in outcome.out


@pytest.mark.parametrize("origin", ["continued", "own"])
def test_of_a_body_that_was_continued_the_vectors_before_are_shown(
    origin: Origin, reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model knows words that the texts brought."""
    loaded = BodyReader.load

    def of_run(folder: Path) -> BodyReader:
        reader = loaded(folder)
        more: Any = {
            name: np.pad(getattr(reader, name), ((0, 1), (0, 0))[: getattr(reader, name).ndim]) for name in PADDED
        }
        return replace(reader, words=(*reader.words, "zorblax"), origin=origin, **more)

    monkeypatch.setattr(BodyReader, "load", of_run)
    page = tmp_path / "why.html"
    outcome = glassformer("explain", reviews.folder, TEXT, "--neighbours", "--html", page)
    found = json.loads(glassformer("explain", reviews.folder, TEXT, "--neighbours", "--json").out)
    heading = "Nearest words in the body `english`, before it was continued"
    if origin == "own":
        assert (
            "learned word vectors from its own texts, and does not keep them, so there is nothing to show"
            in outcome.err
        )
        assert (found["near_in_body"], found["near_before"]) == ({}, None)
        return
    near = [word for word, _ in Body.load(body_folder("english")).nearest("good")]
    assert re.search(rf"^{heading}:\n(.+\n)*?good +{', '.join(near)}$", outcome.out, re.MULTILINE)
    assert heading in page.read_text(encoding="utf-8")
    assert [each["word"] for each in found["near_in_body"]["good"]] == near
    assert found["near_before"] == "english"


def test_a_text_that_begins_with_a_minus_stands_after_two(reviews: Trained) -> None:
    for command in ("explain", "predict", "trace"):
        outcome = glassformer(command, reviews.folder, "-bad film")
        assert outcome.code == 2
        assert "A text that begins with - stands after --, as in: -- '-bad film'" in outcome.err
    assert glassformer("explain", reviews.folder, "--", "-bad film").code == 0
    assert "begins with" not in glassformer("explain", reviews.folder, "-x").err


def test_the_columns_of_a_table_are_described_by_more_than_a_batch_of_rows(reviews: Trained) -> None:
    misused(glassformer("explain", reviews.folder, "--file", reviews.table, "--text", "foo"), "(230 values)")


def test_words_that_occur_several_times_stand_together_in_a_long_text(reviews: Trained) -> None:
    outcome = glassformer("explain", reviews.folder, "a dull play, a good film, " * 3)
    assert "all occurrences of a word together" in outcome.out
    assert "dull (3 times)" in outcome.out
    assert outcome.out.count("dull (") == 1


def test_heads_and_neighbours_quote_punctuation(attending: Trained) -> None:
    shown = glassformer("explain", attending.folder, "good, dull", "--heads").out
    assert re.search(r"block 1, head 1 .*',' \d+%", shown)


def test_the_methods_are_listed_in_the_help() -> None:
    shown = " ".join(glassformer("explain", "--help").out.split())
    assert all(method in shown.replace("- ", "-") for method in METHODS)
    assert "Default: CSV on standard output" in shown


def test_the_page_is_named_and_needs_a_folder(reviews: Trained, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    assert f"page: {page}" in glassformer("explain", reviews.folder, TEXT, "--html", page).err
    misused(glassformer("explain", reviews.folder, TEXT, "--html", tmp_path / "no" / "why.html"), "there is no folder")
    misused(glassformer("trace", reviews.folder, TEXT, "--npz", tmp_path), "is a folder; name a file in it")
    page.write_text("mine")
    misused(glassformer("explain", reviews.folder, TEXT, "--html", page), "--html, or --overwrite to replace it")
    assert page.read_text() == "mine"
    assert glassformer("explain", reviews.folder, TEXT, "--html", page, "--overwrite").code == 0
    assert page.read_text() != "mine"
    misused(glassformer("explain", reviews.folder, TEXT, "--overwrite"), "--overwrite goes with --file or --html")


def test_extra_parts_are_shown(attending: Trained, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    extra = ("--counterfactual", "--heads", "--neighbours", "--html", page)
    outcome = glassformer("explain", attending.folder, "good film and a dull play", *extra)
    assert outcome.code == 0
    assert "changed texts were answered" in outcome.out
    assert re.search(r"block 1, head \d +[+−]?\d", outcome.out)
    assert "Nearest words in the embeddings:" in outcome.out
    for heading in ("What would turn the answer", "Head by head", "Do other methods agree?"):
        assert heading in page.read_text(encoding="utf-8")


def test_a_long_text_shows_the_passage_that_decides(attending: Trained) -> None:
    outcome = glassformer("explain", attending.folder, "a dull play " * 100 + "a good film")
    assert outcome.code == 0
    assert "overlapping passages" in outcome.out


TABLE = [("good film", "x"), ("", "x"), ("=1+1 dull", "x"), ("a poor, dull\u2028play of no plot", "x")]
COLUMNS = [
    "prediction",
    "explained",
    "rival",
    "probability",
    "words_for",
    "words_against",
    "faithfulness",
    "verdict",
    "unlike_training",
]


def test_a_table_gets_a_row_of_reasons_for_each_text(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "new.csv", TABLE)
    out = tmp_path / "reasons.csv"
    outcome = glassformer("explain", reviews.folder, "--file", table, "--out", out)
    assert outcome.code == 0
    assert "3 of 4 rows explained" in outcome.out
    assert "can be trusted, whether or not the answers are right" in outcome.out
    assert "1 row has an empty text" in outcome.err
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["text", "label", *COLUMNS]
    alone = glassformer("explain", reviews.folder, TABLE[3][0], "--json").document
    assert rows[3]["verdict"] == alone["verdict"]
    assert rows[3]["prediction"] == alone["label"]
    strongest = max(alone["words"], key=lambda word: word["total"])
    assert rows[3]["words_for"].startswith(f"{strongest['word']} +")
    assert [row["unlike_training"] for row in rows] == ["false", "", "true", "true"]
    assert "2 of 4 rows are unlike the training data; such answers mean little (first: row 3)" in outcome.err
    assert "; 2 rows are unlike the training data, so their answers may be wrong" in outcome.out
    assert {rows[1][name] for name in COLUMNS} == {""}


def test_a_table_of_several_labels_has_the_predictions_of_predict(tags: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "new.csv", [("good film", "x"), ("nothing", "x"), ("bad book", "x")])
    given, explained = (
        list(csv.DictReader(glassformer(command, tags.folder, "--file", table).out.splitlines()))
        for command in ("predict", "explain")
    )
    assert [row["prediction"] for row in explained] == [row["prediction"] for row in given]
    for text, row in zip(("good film", "nothing", "bad book"), explained, strict=True):
        said = glassformer("explain", tags.folder, text)
        assert row["explained"] in said.out.splitlines()[0]
        labels = row["prediction"].split("|") if row["prediction"] else []
        assert said.out.startswith("no label; nearest: ") == (not labels)
        assert ("also given" in said.out.splitlines()[0]) == (len(labels) > 1) == ("note: --label" in said.err)


def test_a_long_row_is_named_and_formulas_are_made_safe(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.cli.explain_file._LONG", 300)
    table = write_csv(tmp_path / "new.csv", [("=1+1 good", "x"), ("a dull play " * 30, "x")])
    outcome = glassformer("explain", reviews.folder, "--file", table, "--safe-csv")
    assert "row 2 has 90 words, so its explanation takes about 1 min" in outcome.err
    assert outcome.err.count("explanation takes") == 1
    assert "\n'=1+1 good,x," in outcome.out


def test_reasons_as_lines_of_json(reviews: Trained, tmp_path: Path) -> None:
    out = tmp_path / "reasons.jsonl.gz"
    table = write_csv(tmp_path / "new.csv", TABLE)
    found = glassformer("explain", reviews.folder, "--file", table, "--out", out, "--json").document
    assert (found["rows"], found["explained"], found["unlike_training"]) == (4, 3, 2)
    lines = [json.loads(line) for line in gzip.decompress(out.read_bytes()).decode().split("\n")[:-1]]
    assert [line["text"] for line in lines] == [text for text, _ in TABLE]
    words = glassformer("explain", reviews.folder, TABLE[0][0], "--json").document["words"]
    listed = {each["word"]: each["share"] for each in [*lines[0]["words_for"], *lines[0]["words_against"]]}
    assert listed == {word["word"]: pytest.approx(word["total"], abs=1e-6) for word in words if word["total"]}
    assert lines[1]["words_for"] is None


def test_a_table_with_a_taken_column_is_refused(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "new.csv", [("good film", "x")], header=("text", "verdict"))
    misused(glassformer("explain", reviews.folder, "--file", table), "already has a column 'verdict'")


def test_ctrl_c_keeps_the_rows_that_are_done(reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from glassformer.explanation import explain as explaining

    calls = []

    def interrupted(*arguments: Any, **settings: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 11:
            signal.raise_signal(signal.SIGINT)
        return found(*arguments, **settings)

    found = explaining.explain
    monkeypatch.setattr(explaining, "explain", interrupted)
    out = tmp_path / "reasons.csv"
    outcome = glassformer("explain", reviews.folder, "--file", reviews.table, "--out", out)
    assert outcome.code == 130
    assert f"kept in {out}" in outcome.err
    assert len(out.read_text(encoding="utf-8").splitlines()) == 1 + 11
    assert f"{out}: 11 of 230 rows explained" in outcome.out


def test_ctrl_c_between_batches_keeps_the_rows_that_are_done(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = []

    def interrupted(frame: pl.DataFrame, _: Path) -> int:
        batches.append(frame)
        if len(batches) == 2:
            signal.raise_signal(signal.SIGINT)
        return frame.height

    monkeypatch.setattr("glassformer.cli.explain_file.size_of_rows", interrupted)
    out = tmp_path / "reasons.jsonl"
    outcome = glassformer("explain", reviews.folder, "--file", reviews.table, "--out", out)
    assert outcome.code == 130, outcome.err
    assert [json.loads(line)["text"] for line in out.read_text().splitlines()] == batches[0]["text"].to_list()


def test_the_nearest_training_texts_are_shown(keeping: Trained) -> None:
    assert "whoever has the model can read them" in keeping.outcome.err
    lines = (keeping.folder / "training-texts.jsonl").read_text(encoding="utf-8").splitlines()
    outcome = glassformer("explain", keeping.folder, "good film", "--nearest")
    assert outcome.code == 0
    _, shown = outcome.out.split("Nearest training texts, by the cosine of the transformer's vectors:\n")
    found = [
        re.fullmatch(r"(−?\d\.\d{3})  (very good|not, good) +row (\d+) +(.+)", line) for line in shown.splitlines()
    ]
    assert len(found) == 5
    kept = {line["row"]: line for line in map(json.loads, lines)}
    for line in found:
        assert line is not None
        assert (kept[int(line[3])]["label"], kept[int(line[3])]["text"]) == (line[2], line[4])
    similarities = [float(line[1].replace("−", "-")) for line in found if line]
    assert similarities == sorted(similarities, reverse=True)
    first = json.loads(lines[0])
    again = glassformer("explain", keeping.folder, first["text"], "--nearest").out
    assert again.endswith(f"This text is a training text: row {first['row']:,}, label {first['label']}.\n")


def test_a_long_training_text_is_whole_in_json_alone(tmp_path: Path) -> None:
    long = "good film \x1b[2J " * 100
    rows = [*review_rows(40), (long, POSITIVE)]
    table = write_csv(tmp_path / "t.csv", rows)
    folder = tmp_path / "m"
    assert glassformer("train", table, "--out", folder, *QUICK, "--keep-texts").code == 0
    asked = ("explain", folder, "good film", "--nearest")
    texts = [near["text"] for near in glassformer(*asked, "--json").document["nearest"]["texts"]]
    assert long.strip() in [text.strip() for text in texts]
    shown = glassformer(*asked).out
    assert max(map(len, shown.splitlines())) < 160
    assert "\x1b" not in shown


def test_without_kept_texts_it_is_said_how_to_get_them(reviews: Trained) -> None:
    says = "the model does not keep its training texts, so none can be shown; train it again with --keep-texts"
    misused(glassformer("explain", reviews.folder, TEXT, "--nearest"), says)
