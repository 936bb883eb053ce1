import codecs
import csv
import gzip
import io
import json
import math
import os
import re
import shutil
import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from glassformer.cli import rows_to_answer
from glassformer.cli.unknown import most_given
from glassformer.data.rows import iterate_rows
from tests.cli.terminal import failed, glassformer, misused
from tests.running import COMMAND
from tests.trained import NEGATIVE, POSITIVE, Trained, write_csv

UNLIKE = ["unseen_share", "unlike_training"]
ADDED = ["prediction", "confidence", f"probability_{NEGATIVE}", f"probability_{POSITIVE}", *UNLIKE]
TEXTS = ("good film", "bad book", "dull, poor play")


BY_COUNTING = "note: the model answers by counting and the body alone\n"


def probabilities(outcome_json: dict[str, list[dict[str, dict[str, float]]]]) -> list[dict[str, float]]:
    return [answer["probabilities"] for answer in outcome_json["answers"]]


def test_one_text_is_answered_in_one_line(reviews: Trained) -> None:
    said = glassformer("predict", reviews.folder, "good film")
    assert (said.code, said.err) == (0, BY_COUNTING)
    label, ranked, text = said.out.removesuffix("\n").split("\t")
    assert text == "good film"  # as beside the answers to several texts
    first, second = ranked.split("  ")
    assert label == first.rsplit(" ", 1)[0]
    assert {label, second.rsplit(" ", 1)[0]} == {POSITIVE, NEGATIVE}


def test_several_texts_each_stand_beside_their_answer(reviews: Trained) -> None:
    lines = glassformer("predict", reviews.folder, *TEXTS, "--top-k", 1).out.splitlines()
    assert [line.split("\t")[2] for line in lines] == list(TEXTS)
    assert all(re.fullmatch(re.escape(line.split("\t")[0]) + r" >?0\.\d{3}", line.split("\t")[1]) for line in lines)


def test_breaks_and_tabs_of_a_text_are_shown_not_written(reviews: Trained) -> None:
    texts = ("good\nfilm", "bad\r\n\tfilm", "good film")
    said = glassformer("predict", reviews.folder, *texts)
    assert [line.split("\t")[2] for line in said.out.splitlines()] == [r"good\nfilm", r"bad\r\n\tfilm", "good film"]
    document = glassformer("predict", reviews.folder, *texts, "--json").document
    assert [answer["text"] for answer in document["answers"]] == list(texts)


def test_json_probabilities_sum_to_one(reviews: Trained) -> None:
    answers = glassformer("predict", reviews.folder, *TEXTS, "--json").document["answers"]
    assert [answer["text"] for answer in answers] == list(TEXTS)
    for answer in answers:
        assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=2e-6)
        assert answer["confidence"] == max(answer["probabilities"].values())
        assert answer["prediction"] == max(answer["probabilities"], key=answer["probabilities"].__getitem__)
    assert len(glassformer("predict", reviews.folder, "x", "--json", "--top-k", 1).document["answers"][0]) == 7
    for answer in answers:
        margin = sum(answer["readers"].values())
        assert answer["confidence"] == pytest.approx(1 / (1 + math.exp(-margin)), abs=1e-5)


def test_a_pipe_gives_the_answers_that_the_arguments_give(reviews: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = glassformer("predict", reviews.folder, *TEXTS, "--json").document
    monkeypatch.setattr(rows_to_answer, "ROWS_PER_BATCH", 2)
    piped = glassformer("predict", reviews.folder, "--json", stdin="\n".join(TEXTS).encode())
    for answers in (expected, piped.document):
        assert [answer["text"] for answer in answers["answers"]] == list(TEXTS)
    for given, read in zip(probabilities(expected), probabilities(piped.document), strict=True):
        assert given == pytest.approx(read, abs=2e-6)


def test_a_dash_reads_standard_input(reviews: Trained) -> None:
    piped = glassformer("predict", reviews.folder, "-", "--json", stdin=b"good film\nbad book\n").document
    assert [answer["text"] for answer in piped["answers"]] == ["good film", "bad book"]


def test_a_line_of_a_pipe_ends_at_a_line_break_alone(reviews: Trained) -> None:
    said = glassformer("predict", reviews.folder, "--json", stdin="\ufeffgood\u2028film\r\n\nbad\x85\n".encode())
    assert [answer["text"] for answer in said.document["answers"]] == ["good\u2028film", "", "bad\x85"]
    assert "1 of 3 texts is empty and gets no answer (first: text 2)" in said.err


def test_unknown_words_are_listed_as_a_warning(attending: Trained) -> None:
    said = glassformer("predict", attending.folder, "good zebra film", "unheard zebra", "--json")
    assert said.code == 0
    assert said.document["answers"]
    assert said.err.splitlines()[0] == "warning: words never seen in training are read as unknown: zebra, unheard"


def test_a_model_whose_transformer_is_not_asked_has_no_unknown_words(reviews: Trained) -> None:
    config = json.loads((reviews.folder / "config.json").read_text(encoding="utf-8"))
    assert config["readers"]["transformer"]["weight"] == 0
    assert "zebra" not in glassformer("predict", reviews.folder, "good zebra film").err


def test_a_model_whose_transformer_is_not_asked_says_so_once(
    reviews: Trained, attending: Trained, tmp_path: Path
) -> None:
    table = write_csv(tmp_path / "texts.csv", [("good film",), ("bad film",)], ("text",))
    for given in (["good film", "bad film"], ["--file", table], ["--file", table, "--out", tmp_path / "out.csv"]):
        assert glassformer("predict", reviews.folder, *given).err.count(BY_COUNTING) == 1
    for answered in (
        glassformer("predict", attending.folder, "good film"),
        glassformer("predict", reviews.folder, "good film", "--json"),
        glassformer("predict", reviews.folder, "good film", "--quiet"),
    ):
        assert BY_COUNTING not in answered.err


def test_texts_unlike_the_training_data_are_warned_of(reviews: Trained, tmp_path: Path) -> None:
    unlike = "zebras do not read"
    said = glassformer("predict", reviews.folder, unlike)
    assert said.err == f"warning: the text is unlike the training data; its answer means little\n{BY_COUNTING}"
    said = glassformer("predict", reviews.folder, "good film", unlike, " ", unlike)
    assert "warning: 2 of 4 texts are unlike the training data; such answers mean little (first: text 2)\n" in said.err
    table = write_csv(tmp_path / "new.csv", [("good film",)] * 70 + [(unlike,)], ("text",))
    said = glassformer("predict", reviews.folder, "--file", table, "--jsonl")
    assert "warning: 1 of 71 rows is unlike the training data; 1 in 100 is usual (first: row 71)\n" in said.err
    as_usual = write_csv(tmp_path / "usual.csv", [("good film",)] * 100 + [(unlike,)], ("text",))
    assert "unlike" not in glassformer("predict", reviews.folder, "--file", as_usual).err
    *like, last = map(json.loads, said.out.splitlines())
    assert (last["unseen_share"], last["unlike_training"]) == (1, True)
    assert not any(answer["unlike_training"] for answer in like)


def test_a_model_without_seen_words_says_that_it_does_not_know(reviews: Trained, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(reviews.folder, old)
    config = json.loads((old / "config.json").read_text(encoding="utf-8"))
    (old / "config.json").write_text(json.dumps(config | {"unlike": None}), encoding="utf-8")
    (old / "SHA256SUMS").unlink()
    said = glassformer("predict", old, "zebras do not read")
    assert said.err.splitlines()[-1].startswith("note: this model cannot tell which texts are unlike its training data")
    answer = glassformer("predict", old, "zebras do not read", "--json").document["answers"][0]
    assert (answer["unseen_share"], answer["unlike_training"]) == (None, None)
    table = write_csv(tmp_path / "new.csv", [("good film",)], ("text",))
    (row,) = csv.DictReader(io.StringIO(glassformer("predict", old, "--file", table).out))
    assert (row["unseen_share"], row["unlike_training"]) == ("", "")


def test_texts_longer_than_the_window_are_answered(reviews: Trained) -> None:
    short, long = glassformer("predict", reviews.folder, "good film", "good film " * 2000, "--json").document["answers"]
    assert long["prediction"] == short["prediction"]


def test_several_labels_or_none(tags: Trained) -> None:
    answers = glassformer("predict", tags.folder, "good film", "bad book", "--json").document["answers"]
    for answer in answers:
        likely = {label for label, probability in answer["probabilities"].items() if probability >= 0.5}
        assert set(answer["prediction"]) == likely
    line = glassformer("predict", tags.folder, "good film").out
    assert line.split("\t")[0] == (", ".join(answers[0]["prediction"]) or "(no label)")


def test_a_file_keeps_its_columns_and_gets_the_answers(reviews: Trained, tmp_path: Path) -> None:
    rows = [("7", "good film, really", ""), ("8", " ", "note"), ("9", "bad \u2028 book", "")]
    table = write_csv(tmp_path / "new.csv", rows, ("id", "text", "remark"))
    said = glassformer("predict", reviews.folder, "--file", table, "--out", tmp_path / "answers.csv")
    assert said.code == 0
    assert said.out.startswith(f"{tmp_path / 'answers.csv'}: 2 of 3 rows answered (")
    assert "1 of 3 rows has an empty text and gets no answer (first: row 2)" in said.err
    with (tmp_path / "answers.csv").open(newline="", encoding="utf-8") as file:
        header, *answers = csv.reader(file)
    assert header == ["id", "text", "remark", *ADDED]
    assert [tuple(answer[:3]) for answer in answers] == rows
    assert answers[1][3:] == [""] * len(ADDED)
    for answer in (answers[0], answers[2]):
        assert answer[3] in (POSITIVE, NEGATIVE)
        assert float(answer[5]) + float(answer[6]) == pytest.approx(1, abs=2e-6)
        assert float(answer[4]) == max(float(answer[5]), float(answer[6]))
        assert len(answer[4]) <= 8  # rounded, also as text


def test_the_most_frequent_answers_are_named_and_the_others_counted() -> None:
    given = Counter({"": 12, **{f"c{number:02}": 11 - number for number in range(11)}})
    said = most_given(given)
    assert said.startswith(" ((no label) 12, c00 11, ")
    assert said.endswith("c08 3 and 2 more)")


def test_rows_answered_are_counted(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "table.csv", [("good film",)], ("text",))
    said = glassformer("predict", reviews.folder, "--file", table, "--out", tmp_path / "a.csv")
    assert said.out.startswith(f"{tmp_path / 'a.csv'}: 1 row answered (")
    gaps = write_csv(tmp_path / "gaps.csv", [("good film",), (" ",), (" ",)], ("text",))
    said = glassformer("predict", reviews.folder, "--file", gaps, "--out", tmp_path / "b.csv")
    assert said.out.startswith(f"{tmp_path / 'b.csv'}: 1 of 3 rows answered (")
    assert "2 of 3 rows have an empty text and get no answer (first: row 2)" in said.err
    write_csv(gaps, [(" ",), (" ",)], ("text",))
    said = glassformer("predict", reviews.folder, "--file", gaps, "--out", tmp_path / "c.csv")
    assert said.out == f"{tmp_path / 'c.csv'}: 0 of 2 rows answered\n"
    said = glassformer("predict", reviews.folder, "--file", gaps, "--out", tmp_path / "d.csv", "--json")
    assert (said.document["rows"], said.document["answered"], said.document["unanswered"]) == (2, 0, 2)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.jsonl", "a.ndjson.gz", "a.xlsx"])
def test_answers_to_a_file_in_every_format(
    name: str, reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_to_answer, "ROWS_PER_BATCH", 50)  # 230 rows in batches
    source = tmp_path / "reviews.csv.gz"
    source.write_bytes(gzip.compress(reviews.table.read_bytes()))
    said = glassformer("predict", reviews.folder, "--file", source, "--out", tmp_path / name, "--json")
    assert said.document["rows"] == sum(said.document["predictions"].values()) == 230
    content = (tmp_path / name).read_bytes()
    content = gzip.decompress(content) if name.endswith(".gz") else content
    if "json" in name:
        frame = pl.read_ndjson(io.BytesIO(content))
        assert frame.columns == ["text", "label", "prediction", "confidence", "probabilities", "readers", *UNLIKE]
    else:
        frame = pl.concat(iterate_rows(tmp_path / name, rows_per_batch=500))
        assert frame.columns == ["text", "label", *ADDED]
    assert frame["text"].to_list() == pl.read_csv(reviews.table)["text"].to_list()
    assert {path.name for path in tmp_path.iterdir()} == {"reviews.csv.gz", name}


def test_files_beside_the_tables_of_a_zip_are_named(reviews: Trained, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(reviews.table, "a.csv")
        archive.write(reviews.table, "b.csv")
        archive.writestr("LICENSE", "yours")
    said = glassformer("predict", reviews.folder, "--file", tmp_path / "a.zip", "--json")
    assert len(said.document["answers"]) == 460
    assert said.err.count("left out: 'LICENSE', which is no table\n") == 1


def test_columns_that_a_text_file_cannot_hold_are_refused(reviews: Trained, tmp_path: Path) -> None:
    table = tmp_path / "a.parquet"
    pl.DataFrame({"text": ["good film"], "odd": [[1, 2]]}).write_parquet(table)
    refused = glassformer("predict", reviews.folder, "--file", table, "--out", tmp_path / "a.csv")
    assert refused.code == 2
    assert "'odd' holds List(Int64)" in refused.err
    assert ".jsonl" in refused.err
    assert glassformer("predict", reviews.folder, "--file", table, "--json").document["answers"][0]["odd"] == [1, 2]
    pl.DataFrame({"text": ["good film"], "odd": [b"\xff"]}).write_parquet(table)
    assert glassformer("predict", reviews.folder, "--file", table, "--json").code == 2


def test_a_file_without_out_is_answered_on_standard_output(reviews: Trained) -> None:
    table = b'text,n\n"good, film",1\nbad,2\n'
    as_csv = glassformer("predict", reviews.folder, "--file", "-", stdin=table)
    header, *rows = csv.reader(io.StringIO(as_csv.out))
    assert header == ["text", "n", *ADDED]
    as_json = glassformer("predict", reviews.folder, "--file", "-", "--json", stdin=table).document["answers"]
    assert [row["text"] for row in as_json] == ["good, film", "bad"] == [row[0] for row in rows]
    assert [str(row["confidence"]) for row in as_json] == [row[3] for row in rows]
    assert [json.dumps(row["unlike_training"]) for row in as_json] == [row[-1] for row in rows]


def test_json_keeps_the_values_of_its_other_columns(reviews: Trained, tmp_path: Path) -> None:
    """Of every row, also beyond the first batch, where a key is missing, and from a pipe."""
    odd = {"id": 1, "price": 2.50, "ok": True, "tags": ["a", {"b": None}], "big": 10**30, "none": None, "code": "007"}
    odd |= {"film": "NaN", "films": ["Infinity War", {"NaN": 1}], "by": {"name": "Ann", "age": 40}}
    rows = [{"text": "good film", **odd}, *({"text": "bad", "id": number} for number in range(5_000))]
    table, out = tmp_path / "new.jsonl", tmp_path / "a.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)))
    assert glassformer("predict", reviews.folder, "--file", table, "--out", out).code == 0
    answered = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(answered) == len(rows)
    for row, answer in zip(rows, answered, strict=True):
        assert answer["prediction"]
        assert json.dumps({key: answer[key] for key in rows[0]}) == json.dumps(dict.fromkeys(rows[0]) | row)
    array = json.dumps([{"text": "good film", "n": 3, "odd": float("nan"), "far": [float("inf")]}]).encode()
    (piped,) = glassformer("predict", reviews.folder, "--file", "-", "--json", stdin=array).document["answers"]
    assert (piped["n"], piped["odd"], piped["far"]) == (3, None, "[Infinity]")
    as_csv = glassformer("predict", reviews.folder, "--file", table, "--out", tmp_path / "a.csv")
    assert as_csv.code == 0
    assert pl.read_csv(tmp_path / "a.csv")["by.name"][0] == "Ann"
    explained = tmp_path / "why.jsonl"
    table.write_text("\n".join(map(json.dumps, [rows[0]] * 9)))
    assert glassformer("explain", reviews.folder, "--file", table, "--out", explained).code == 0
    for line in explained.read_text().splitlines():
        assert rows[0].items() <= json.loads(line).items()


def test_parquet_keeps_its_numbers_in_lines_of_json(reviews: Trained, tmp_path: Path) -> None:
    pl.DataFrame({"text": ["good film"], "n": [3], "ok": [True]}).write_parquet(tmp_path / "new.parquet")
    found = glassformer("predict", reviews.folder, "--file", tmp_path / "new.parquet", "--jsonl")
    assert (json.loads(found.out)["n"], json.loads(found.out)["ok"]) == (3, True)


def test_a_file_of_texts_alone_is_sent_to_the_pipe(reviews: Trained, tmp_path: Path) -> None:
    texts = tmp_path / "my texts.txt"
    texts.write_text("good film\nbad\n")
    refused = glassformer("predict", reviews.folder, "--file", texts)
    misused(
        refused, f"holds texts without columns; to answer each line: glassformer predict {reviews.folder} < '{texts}'"
    )
    for name, raw, to_do in (
        ("TEXTS.TXT", b"good film\n", "to answer each line: glassformer predict"),
        (
            "texts.txt.gz",
            gzip.compress(b"good film\n"),
            "unpack it, and then, to answer each line: glassformer predict",
        ),
    ):
        (tmp_path / name).write_bytes(raw)
        command = f"{to_do} {reviews.folder} < {tmp_path / name.removesuffix('.gz')}"
        misused(glassformer("predict", reviews.folder, "--file", tmp_path / name), command)
    texts.write_text("__label__good good film\n")
    assert glassformer("predict", reviews.folder, "--file", texts).code == 0


def test_a_folder_of_texts_alone_is_no_table(reviews: Trained, tmp_path: Path) -> None:
    for name in ("texts/1.txt", "classes/good/1.txt", "classes/bad/2.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("good film")
    for name in ("texts", "classes"):
        answering = glassformer("predict", reviews.folder, "--file", tmp_path / name, "--out", tmp_path / "out")
        misused(answering, f"{name} holds one text in each file, and --file reads tables")
    shutil.make_archive(str(tmp_path / "classes"), "zip", tmp_path / "classes")
    packed = glassformer("predict", reviews.folder, "--file", tmp_path / "classes.zip")
    assert [line.split(",")[:3] for line in packed.out.splitlines()[1:]] == [
        ["good film", "bad", "bad/2.txt"],
        ["good film", "good", "good/1.txt"],
    ]
    (tmp_path / "texts" / "a.csv").write_text("text\ngood film\n")
    several = glassformer("predict", reviews.folder, "--file", tmp_path / "texts", "--out", tmp_path / "out")
    misused(several, "files of several formats: '1.txt' and 'a.csv'")
    (tmp_path / "texts" / "a.csv").unlink()
    (tmp_path / "texts" / "1.txt").write_text("__label__good good film\n")
    command = ("predict", reviews.folder, "--file", tmp_path / "texts", "--out", tmp_path / "out")
    assert glassformer(*command).code == 0


def test_json_lines_from_a_pipe(reviews: Trained) -> None:
    lines = [json.dumps({"words": text}, ensure_ascii=False) for text in ("good\u2028film", "电影 😀")]
    said = glassformer("predict", reviews.folder, "--file", "-", "--json", stdin="\n".join(lines).encode())
    assert [row["words"] for row in said.document["answers"]] == ["good\u2028film", "电影 😀"]
    assert "text column: 'words'" in said.err


def test_the_text_column_is_the_one_asked_for_or_the_one_of_training(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [("good film good film", "bad")], ("text", "title"))
    answers = [
        glassformer("predict", reviews.folder, "--file", table, *flags, "--json").document["answers"][0]
        for flags in ((), ("--text", "title"))
    ]
    assert answers[0]["confidence"] != answers[1]["confidence"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x", "--file", "t.csv"], ["texts or --file"]),
        (["x", "--out", "a.csv"], ["--out goes with --file"]),
        (["x", "--text", "a"], ["--text names a column of the table in --file"]),
        (["--text", "a text"], ['a text needs no flag: "a text"']),
        (["x", "-"], ["- reads texts from standard input"]),
        (["x", "--overwrite"], ["--overwrite goes with --out"]),
        (["--file", "t.csv", "--out", "there.csv"], ["there.csv is already there", "--overwrite"]),
        (["--file", "t.csv", "--out", "lost.csv"], ["lost.csv is a link that leads nowhere; remove it"]),
        (["--file", "t.csv", "--out", "lost.csv", "--overwrite"], ["lost.csv is a link that leads nowhere"]),
        (["--file", "t.csv", "--top-k", "1"], ["--top-k"]),
        (["--file", "t.csv", "--out", "a.xls"], ["a.xls", ".csv", ".jsonl", ".xlsx"]),
        (["--file", "t.csv", "--out", "nosuch/a.csv"], ["no folder nosuch"]),
        (["x", "--json", "--jsonl"], ["--jsonl does not go with --json"]),
        (["--file", "t.csv", "--out", "a.jsonl", "--jsonl"], ["--jsonl does not go with --out"]),
        (["x", "--safe-csv"], ["--safe-csv is for"]),
        (["--file", "t.csv", "--jsonl", "--safe-csv"], ["--safe-csv is for"]),
        (["--file", "t.csv", "--out", "a.jsonl.gz", "--safe-csv"], ["--safe-csv is for"]),
        (["--file", "nosuch.csv"], ["No such file: nosuch.csv"]),
        (["--file", "nosuch/", "--out", "answers"], ["No such file or folder: nosuch."]),
        (["--file", "t.csv", "--text", "nope"], ["no column 'nope' (--text)"]),
        (["--file", "empty.csv"], ["empty.csv is empty"]),
        (["--file", "taken.csv"], ["'prediction'", "rename"]),
        (["--device", "abacus", "x"], ["--device abacus"]),
        ([b"\xff x".decode(errors="surrogateescape")], ["argument 3", "not UTF-8"]),
        ([], ["the pipe was empty"]),
    ],
)
def test_a_request_that_cannot_be_met(
    arguments: list[str], words: list[str], reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(Path("t.csv"), [("good", "x")])
    write_csv(Path("taken.csv"), [("good", "x")], ("text", "prediction"))
    Path("empty.csv").touch()
    Path("there.csv").touch()
    Path("lost.csv").symlink_to("gone")
    before = set(tmp_path.iterdir())
    misused(glassformer("predict", reviews.folder, *arguments), *words)
    assert set(tmp_path.iterdir()) == before


def test_a_pipe_of_mixed_encodings_is_answered_up_to_the_bad_line(reviews: Trained) -> None:
    misused(
        glassformer("predict", reviews.folder, stdin=b"caf\xe9\nol\xc3\xa9\n"), "line 1", "byte 4", "mixes encodings"
    )
    for flags in ((), ("--jsonl",)):
        said = glassformer("predict", reviews.folder, *flags, stdin=b"good\nbad\ncaf\xe9\nol\xc3\xa9\n")
        assert said.code == 2
        assert "line 3: byte 4" in said.err
        assert len(said.out.splitlines()) == 2


def test_quiet_leaves_out_notes_and_warnings(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "new.csv", [("an unheard zebra", "1"), (" ", "2"), ("?", "3")], ("remark", "number"))
    for arguments in (["--file", table], [reviews.table, "?", " "]):
        loud = glassformer("predict", reviews.folder, *arguments)
        quiet = glassformer("predict", reviews.folder, *arguments, "--quiet")
        assert (quiet.code, quiet.out, quiet.err) == (0, loud.out, "")
        assert loud.err.count("warning: ") >= 2


def test_a_file_that_breaks_on_the_way_leaves_nothing(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_to_answer, "ROWS_PER_BATCH", 3)
    (tmp_path / "t.csv").write_text("text,n\na,1\nb,2\nc,3\nd,4,5\n")
    (tmp_path / "a.csv").write_text("of yesterday")
    said = glassformer(
        "predict", reviews.folder, "--file", tmp_path / "t.csv", "--out", tmp_path / "a.csv", "--overwrite"
    )
    misused(said, "row 5 of the file")
    assert (tmp_path / "a.csv").read_text() == "of yesterday"
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "a.csv"}


def test_answers_replace_a_file_when_told_to(reviews: Trained, tmp_path: Path) -> None:
    table, out = write_csv(tmp_path / "new.csv", [("good film",)], header=("text",)), tmp_path / "a.csv"
    out.write_text("of yesterday")
    assert glassformer("predict", reviews.folder, "--file", table, "--out", out, "--overwrite").code == 0
    assert out.read_text().startswith("text,prediction")
    os.mkfifo(tmp_path / "pipe.csv")
    said = glassformer("predict", reviews.folder, "--file", table, "--out", tmp_path / "pipe.csv", "--overwrite")
    misused(said, "pipe.csv is a pipe or a device, which a file would replace; name a file")
    assert (tmp_path / "pipe.csv").is_fifo()


def test_a_model_folder_and_a_table_in_each_other_s_place(reviews: Trained, tmp_path: Path) -> None:
    model, table = reviews.folder, reviews.table
    misused(glassformer("predict", table, model), "give the model folder first", f"{model} --file {table}")
    for command in (("evaluate",), ("compare", model), ("align", "sft"), ("align", "reward")):
        out = ("--out", tmp_path / "m") if command[0] == "align" else ()
        swapped = glassformer(*command, table, model, *out)
        misused(swapped, "give the model folder first", f"{model} {table}")
    misused(glassformer("predict", table, "x"), "is a file, and a model folder is needed here")


def test_the_name_of_a_file_is_a_text_with_a_note(reviews: Trained) -> None:
    said = glassformer("predict", reviews.folder, reviews.table)
    assert said.code == 0
    assert f"note: {reviews.table} is a file, but it was read as a text; --file {reviews.table}" in said.err
    assert glassformer("predict", reviews.folder, "good film " * 1000).err == BY_COUNTING  # longer than a path may be


def test_a_mistyped_model_folder_gets_a_near_name(reviews: Trained) -> None:
    misused(glassformer("predict", reviews.folder.with_name("modle"), "x"), "no such model folder", str(reviews.folder))
    misused(glassformer("predict", reviews.folder / "no" / "model", "x"), f"{reviews.folder / 'no'} does not exist")


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    misused(glassformer("predict", tmp_path / "nosuch", "x"), "no such model folder")
    misused(glassformer("predict", tmp_path, "x"), "not a model folder", "glassformer train")
    (tmp_path / "tokenizer.json").touch()
    failed(glassformer("predict", tmp_path, "x"), "config.json", "missing")


def test_answers_do_not_replace_the_table_that_is_read(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "new.csv", [("good film",)], header=("text",))
    before = table.read_bytes()
    misused(glassformer("predict", reviews.folder, "--file", table, "--out", table), "name another file")
    assert table.read_bytes() == before


def test_an_answer_has_one_json_shape(reviews: Trained, tmp_path: Path) -> None:
    texts = ("good film", " ", "bad book")
    table = write_csv(tmp_path / "new.csv", [(text,) for text in texts], ("text",))
    piped = "\n".join(texts).encode()
    expected = glassformer("predict", reviews.folder, *texts, "--json").document["answers"]
    assert [list(answer) for answer in expected] == [
        ["text", "prediction", "confidence", "probabilities", "readers", *UNLIKE]
    ] * 3
    assert expected[1] == {"text": " ", **dict.fromkeys(key for key in expected[0] if key != "text")}
    assert glassformer("predict", reviews.folder, "--json", stdin=piped).document["answers"] == expected
    assert glassformer("predict", reviews.folder, "--file", table, "--json").document["answers"] == expected
    glassformer("predict", reviews.folder, "--file", table, "--out", tmp_path / "a.jsonl")
    lines = [
        glassformer("predict", reviews.folder, *texts, "--jsonl").out,
        glassformer("predict", reviews.folder, "--jsonl", stdin=piped).out,
        glassformer("predict", reviews.folder, "--file", table, "--jsonl").out,
        (tmp_path / "a.jsonl").read_text(),
    ]
    for written in lines:
        assert [json.loads(line) for line in written.splitlines()] == expected


def test_a_text_without_a_word_has_no_answer(reviews: Trained) -> None:
    said = glassformer("predict", reviews.folder, "", "good film")
    assert (said.code, said.out.splitlines()[0]) == (0, "(no text)\t\t")
    assert said.err == f"warning: 1 of 2 texts is empty and gets no answer (first: text 1)\n{BY_COUNTING}"
    assert glassformer("predict", reviews.folder, "").err == (
        f"warning: the text is empty and gets no answer\n{BY_COUNTING}"
    )


@pytest.mark.parametrize("flags", [(), ("--jsonl",)])
def test_a_pipe_is_answered_as_it_arrives(flags: tuple[str, ...], reviews: Trained) -> None:
    command = [*COMMAND, "predict", str(reviews.folder), *flags]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in ("good film", "bad book"):
            process.stdin.write(f"{text}\n")
            process.stdin.flush()
            answer = process.stdout.readline()  # standard input is still open
            assert json.loads(answer)["text"] == text if flags else answer.endswith(f"\t{text}\n")
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 0


def test_a_long_text_is_shown_by_its_beginning(reviews: Trained) -> None:
    long = "good film " * 50
    shown = glassformer("predict", reviews.folder, long, "bad").out.splitlines()[0].split("\t")[2]
    assert shown == f"{long[:200]}…"
    assert glassformer("predict", reviews.folder, long, "--json").document["answers"][0]["text"] == long


def test_the_unknown_words_that_are_listed_are_the_telling_ones(attending: Trained) -> None:
    texts = ["A-10023 zebra 😀 17", "A-10024 zebra 18", "unheard 19 20", "21 22 23 24", "x" * 100]
    said = glassformer("predict", attending.folder, *texts)
    assert said.err.splitlines()[0] == (
        "warning: words never seen in training are read as unknown: "
        f"zebra, unheard, {'x' * 40}…, A, 😀 and 11 more (10 with digits, 1 punctuation)"
    )
    said = glassformer("predict", attending.folder, "10023 10024")
    assert said.err.splitlines()[0] == "warning: words never seen in training are read as unknown: 10023, 10024"


def test_texts_of_punctuation_only_are_answered_with_a_warning(attending: Trained) -> None:
    said = glassformer("predict", attending.folder, "good film", "?! ...", "$", "😀", " ")
    assert [bool(line.split("\t")[1]) for line in said.out.splitlines()] == [True, True, True, True, False]
    assert said.err.splitlines()[2:] == [
        "warning: 2 of 5 texts hold punctuation only; such answers mean little (first: text 2)",
        "warning: 1 of 5 texts is empty and gets no answer (first: text 5)",
    ]


FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝1+1",
    "good -5",
    "-5",
    "+1.5e3",
    "-",
    "",
]


def test_formulas_are_written_as_text_in_files(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [("good film", formula) for formula in FORMULAS], ("text", "=a"))
    found: list[list[str]] = []
    for flags in (("--no-safe-csv",), ()):
        out = tmp_path / f"{len(found)}.csv"
        assert glassformer("predict", reviews.folder, "--file", table, "--out", out, *flags).code == 0
        with out.open(newline="", encoding="utf-8") as file:
            found.append([row[1] for row in csv.reader(file)])
    assert found[0] == ["=a", *FORMULAS]
    assert found[1] == ["'=a", *(f"'{formula}" for formula in FORMULAS[:7]), *FORMULAS[7:10], "'-", ""]
    on_screen = glassformer("predict", reviews.folder, "--file", table, "--safe-csv").out
    assert "'=1+1" in on_screen
    assert "'=1+1" not in glassformer("predict", reviews.folder, "--file", table).out


def test_a_table_without_the_column_of_training_is_said(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "new.csv", [("a good film", "1"), ("a bad book", "2")], ("remark", "number"))
    said = glassformer("predict", reviews.folder, "--file", table)
    assert said.code == 0
    assert "has no column 'text', which the model learned from" in said.err
    assert "Did you mean" not in said.err
    misspelled = write_csv(tmp_path / "near.csv", [("a good film", "1"), ("a bad book", "2")], ("texts", "number"))
    said = glassformer("predict", reviews.folder, "--file", misspelled)
    assert "no column 'text', which the model learned from. Did you mean 'texts'?" in said.err
    given = glassformer("predict", reviews.folder, "--file", table, "--text", "remark")
    assert "has no column" not in given.err


@pytest.mark.parametrize(
    ("source", "separator", "out", "written"),
    [
        ("t.csv", ";", "a.csv", ";"),
        ("t.csv.gz", "|", "a.csv.gz", "|"),
        ("t.csv", ";", "a.tsv", "\t"),
        ("t.tsv", "\t", "a.csv", ";"),  # commas are decimal there
        ("t.csv", ";", None, ";"),
        ("-", ";", None, ";"),
    ],
)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_answers_keep_the_separator_and_the_byte_order_mark(
    source: str, separator: str, out: str | None, written: str, mark: bytes, reviews: Trained, tmp_path: Path
) -> None:
    content = mark + f'text{separator}n\r\n"good film; really, yes\t|"{separator}"3,5"\r\n'.encode()
    path = tmp_path / source
    if source != "-":
        path.write_bytes(gzip.compress(content) if source.endswith(".gz") else content)
    arguments = ["--file", "-" if source == "-" else path, *(["--out", tmp_path / out] if out else [])]
    said = glassformer("predict", reviews.folder, *arguments, stdin=content)
    answers = (tmp_path / out).read_bytes() if out else said.out.encode()
    answers = gzip.decompress(answers) if out and out.endswith(".gz") else answers
    assert answers.startswith(mark + written.join(["text", "n", "prediction"]).encode())
    assert answers.count(b"\n") == answers.count(b"\r\n") == 2
    assert answers.count(codecs.BOM_UTF8) == len(mark) // 3
    row = list(csv.reader(io.StringIO(answers.decode("utf-8-sig")), delimiter=written))[1]
    assert row[:2] == ["good film; really, yes\t|", "3,5"]
    assert re.fullmatch(r"0,\d+", row[3])  # its confidence, with the decimal comma of the table


def test_a_model_without_seen_words_says_what_it_cannot_tell(reviews: Trained, tmp_path: Path) -> None:
    quick = ("--preset", "tiny", "--epochs", 0, "--set", "training.keep_seen_words=false")
    assert glassformer("train", reviews.table, "--out", tmp_path / "model", *quick).code == 0
    said = glassformer("predict", tmp_path / "model", "--file", reviews.table, "--out", tmp_path / "answers.csv")
    assert said.code == 0, said.err
    assert (
        "cannot tell which texts are unlike its training data: it was trained with --set training.keep_seen_"
        in said.err
    )
    with (tmp_path / "answers.csv").open(encoding="utf-8") as file:
        assert {tuple(row[name] for name in UNLIKE) for row in csv.DictReader(file)} == {("", "")}
    (answer,) = glassformer("predict", tmp_path / "model", "film", "--json").document["answers"]
    assert [answer[name] for name in UNLIKE] == [None, None]
