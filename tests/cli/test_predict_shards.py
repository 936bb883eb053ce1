import gzip
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.cli import predict_shards as cli_predict_shards
from glassformer.cli.predict_shards import words
from glassformer.data.formats import compressions
from glassformer.prediction import shards as prediction_shards
from glassformer.prediction.shard_manifest import MANIFEST
from glassformer.prediction.shards import Bulk, Progress, answers_name
from tests.attacks.answer import nothing_lost
from tests.cli.shards import answers, finished, write_french, write_shards
from tests.cli.terminal import Outcome, failed, glassformer, misused
from tests.data.test_folder_encoding import FRENCH
from tests.running import Running
from tests.trained import Trained
from tests.workbooks import write_workbook


def predict(model: Trained, shards: Path, out: Path, *more: object) -> Outcome:
    return glassformer("predict", model.folder, "--file", shards, "--out", out, *more)


def test_each_row_has_the_answer_that_it_has_alone(reviews: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 3, 40), tmp_path / "answers"
    said = predict(reviews, shards, out)
    assert said.code == 0, said.err
    assert said.out.startswith(f"{out}: 120 rows in 3 shards answered (")
    assert sorted(path.name for path in out.iterdir()) == [MANIFEST, *(f"part-00{part}.parquet" for part in range(3))]
    found = answers(out)
    assert found["id"].to_list() == list(range(120))
    pl.read_parquet(shards / "*.parquet").write_csv(tmp_path / "whole.csv")
    glassformer("predict", reviews.folder, "--file", tmp_path / "whole.csv", "--out", tmp_path / "alone.csv")
    alone = pl.read_csv(tmp_path / "alone.csv")
    assert found.columns == alone.columns
    assert found["prediction"].to_list() == alone["prediction"].to_list()
    assert found["confidence"].to_list() == pytest.approx(alone["confidence"].to_list(), abs=2e-6)


def test_the_shards_are_read_in_one_encoding(reviews: Trained, tmp_path: Path) -> None:
    """As `train` reads them: a short shard says too little. Those that are answered later are read as before."""
    shards, out = write_french(tmp_path / "shards"), tmp_path / "answers"
    said = predict(reviews, shards, out)
    assert said.err.count(" read as ") == 1
    assert "17 of 19 files read as Windows-1252: 38 bytes such as 0xe9 in 00.csv are not UTF-8; é" in said.err
    assert answers(out)["text"].to_list() == [*FRENCH]
    for name in ("01.csv", "09.csv"):
        (out / name).unlink()
    assert predict(reviews, shards, out).code == 0
    assert answers(out)["text"].to_list() == [*FRENCH]


def test_the_shards_are_written_with_one_decimal_point(reviews: Trained, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for name, number in (("a.csv", "3,5"), ("b.csv", "4")):
        (tmp_path / "shards" / name).write_text(f"text;n\ngood film;{number}\n", encoding="utf-8")
    assert glassformer("predict", reviews.folder, "--file", tmp_path / "shards", "--out", tmp_path / "o").code == 0
    for name in ("a.csv", "b.csv"):
        frame = pl.read_csv(tmp_path / "o" / name, separator=";")
        assert frame["confidence"].dtype == pl.Float64, frame


def test_a_shard_that_cannot_be_opened_does_not_hinder_the_others(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressions, "_ZSTD", None)
    shards, out = write_french(tmp_path / "shards"), tmp_path / "answers"
    (shards / "x.csv.zst").touch()
    misused(predict(reviews, shards, out), "1 shard has no answers, of 20", "x.csv.zst", "zst")
    assert answers(out)["text"].to_list() == [*FRENCH]


def test_a_workbook_of_several_sheets_among_the_shards_is_listed_with_them(reviews: Trained, tmp_path: Path) -> None:
    (shards := tmp_path / "shards").mkdir()
    book = write_workbook(shards / "book.xlsx", {"May 1": [["text"], ["good"]], "June": [["text"], ["bad"], ["ill"]]})
    (shards / "other.xlsx").write_bytes(b"")
    said = predict(reviews, shards, tmp_path / "answers")
    misused(
        said, "2 shards have no answers, of 2", "name one of them:", f"'{book}#May 1'", f"'{book}#June'  ", "3 rows"
    )
    assert said.err.index("#June") < said.err.index("other.xlsx")  # the sheets are below their workbook


def test_notes_beside_the_shards_are_left_out_and_named(reviews: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 2, 3), tmp_path / "answers"
    (shards / "README.md").write_text("no table")
    said = predict(reviews, shards, out)
    assert said.err.count("left out: 'README.md', which is no table") == 1
    assert answers(out)["id"].to_list() == list(range(6))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_shard_that_changes_after_its_rows_were_read_has_no_answers(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Its checksum would be the one of other rows, which a later run would take for answered."""
    shards, out = write_shards(tmp_path / "shards", 2, 3, kind), tmp_path / "answers"
    write_answers = prediction_shards._write_answers

    def overwritten(*args: Any) -> Any:
        counts, shard = write_answers(*args), shards / f"part-001.{kind}"
        shard.write_bytes(shard.read_bytes().replace(b"film", b"song"))
        return counts

    monkeypatch.setattr(prediction_shards, "_write_answers", overwritten)
    misused(predict(reviews, shards, out), "1 shard has no answers, of 2", f"part-001.{kind} changed while it was read")
    assert answers(out)["id"].to_list() == [0, 1, 2]


def test_parquet_keeps_the_types_of_all_columns(reviews: Trained, tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    rows = pl.DataFrame(
        {"text": ["good", None], "tags": [["a", "b"], []], "raw": [b"\0", b"\xff"], "number": [1.5, None]}
    )
    rows.write_parquet(shards / "a.parquet")
    said = predict(reviews, shards, tmp_path / "answers")
    assert "warning: 1 of 2 rows has an empty text and gets no answer" in said.err
    found = pl.read_parquet(tmp_path / "answers" / "a.parquet")
    assert found.select(rows.columns).equals(rows)
    assert found["prediction"].is_null().to_list() == [False, True]


@pytest.mark.parametrize(
    ("shard", "expected"),
    [
        ("a.parquet", "a.parquet"),
        ("a.b.CSV", "a.b.csv"),
        ("a.tsv.bz2", "a.tsv.gz"),
        ("a.json", "a.jsonl"),
        ("a.ndjson.gz", "a.jsonl.gz"),
        ("a.csv.zst", "a.csv.gz"),
        ("a.feather", "a.parquet"),
        ("a.xlsx", "a.csv"),
    ],
)
def test_answers_have_the_name_and_the_kind_of_their_shard(shard: str, expected: str) -> None:
    assert answers_name(Path(shard)) == expected


def test_text_files_keep_their_separator_and_their_compression(reviews: Trained, tmp_path: Path) -> None:
    shards, out = tmp_path / "shards", tmp_path / "answers"
    shards.mkdir()
    (shards / "a.csv.gz").write_bytes(gzip.compress(b"id;text\n1;=good, film\n"))
    (shards / "b.csv").write_text("text,id\nbad film,2\n", encoding="utf-8")
    assert predict(reviews, shards, out).code == 0
    header, row = gzip.decompress((out / "a.csv.gz").read_bytes()).decode().splitlines()
    assert header.startswith("id;text;prediction;confidence;")
    assert row.startswith("1;'=good, film;")
    assert (out / "b.csv").read_text(encoding="utf-8").splitlines()[1].startswith("bad film,2,")
    misused(predict(reviews, shards, out, "--no-safe-csv"), "was begun with safe CSV")


def test_json_lines_are_answered_as_json_lines(reviews: Trained, tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    (shards / "a.jsonl").write_text('{"text": "good"}\n{"text": "bad", "n": 1}\n', encoding="utf-8")
    assert predict(reviews, shards, tmp_path / "answers").code == 0
    lines = (tmp_path / "answers" / "a.jsonl").read_text(encoding="utf-8").splitlines()
    assert [(json.loads(line)["text"], json.loads(line)["n"]) for line in lines] == [("good", None), ("bad", 1)]
    assert all("probabilities" in json.loads(line) for line in lines)


def test_a_second_run_answers_new_shards_only(reviews: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 2, 10), tmp_path / "answers"
    predict(reviews, shards, out)
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    pl.DataFrame({"id": [20], "text": ["good"]}).write_parquet(shards / "part-002.parquet")
    (shards / "part-000.parquet").touch()  # its content is the same
    said = predict(reviews, shards, out, "--json")
    assert (said.document["shards"], said.document["finished_by_earlier_runs"]) == (3, 2)
    assert (said.document["rows"], said.document["rows_of_this_run"]) == (21, 1)
    assert sum(said.document["predictions"].values()) == 21
    assert before.items() <= {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}.items()
    assert answers(out)["id"].to_list() == list(range(21))


def test_another_model_is_refused_until_overwrite(reviews: Trained, attending: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 2, 10), tmp_path / "answers"
    predict(reviews, shards, out)
    first = answers(out)
    misused(predict(attending, shards, out), "holds the answers of another model", "--overwrite")
    assert answers(out).equals(first)
    (shards / "part-001.parquet").rename(tmp_path / "moved.parquet")
    assert predict(attending, shards, out, "--overwrite").code == 0
    assert answers(out)["id"].to_list() == list(range(10))
    assert not answers(out).equals(first.head(10))


@pytest.mark.parametrize("done", [0, 1])
def test_overwrite_keeps_old_answers_until_there_are_new_ones(
    reviews: Trained, attending: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    shards, out = write_shards(tmp_path / "shards", 3, 10), tmp_path / "answers"
    predict(reviews, shards, out)
    (shards / "part-002.parquet").unlink()
    before = {path.name: path.read_bytes() for path in out.glob("*.parquet")}
    answer_shard = prediction_shards.answer_shard

    def stopping(*given: object) -> object:
        if len(finished(out)) == done:
            signal.raise_signal(signal.SIGINT)
        return answer_shard(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(prediction_shards, "answer_shard", stopping)
    for _ in range(2):
        assert predict(attending, shards, out, "--overwrite").code == 130
        now = {path.name: path.read_bytes() for path in out.glob("*.parquet")}
        assert [name for name in before if now[name] != before[name]] == ["part-000.parquet"][:done]
    monkeypatch.undo()
    assert predict(attending, shards, out).code == 0
    assert answers(out)["id"].to_list() == list(range(20))


def test_answers_of_before_beside_a_bad_shard_are_told(reviews: Trained, attending: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 2, 10), tmp_path / "answers"
    predict(reviews, shards, out)
    before = (out / "part-001.parquet").read_bytes()
    (shards / "part-001.parquet").write_bytes(b"PAR1 and more")
    for more in (["--overwrite"], []):
        said = predict(attending, shards, out, *more)
        misused(said, "1 shard has no answers, of 2", "Answers from before --overwrite are still there.")
    assert (out / "part-001.parquet").read_bytes() == before
    (shards / "part-001.parquet").unlink()
    assert predict(attending, shards, out).code == 0
    assert not (out / "part-001.parquet").exists()


def test_another_column_is_refused(reviews: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 1, 10), tmp_path / "answers"
    predict(reviews, shards, out)
    misused(predict(reviews, shards, out, "--text", "id"), "to the column 'text'", "now it is 'id'")


def test_a_changed_shard_is_named_and_answered_again_without_its_answers(reviews: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 2, 10), tmp_path / "answers"
    predict(reviews, shards, out)
    pl.DataFrame({"id": [10], "text": ["bad"]}).write_parquet(shards / "part-001.parquet")
    misused(predict(reviews, shards, out), f"{shards / 'part-001.parquet'} was changed", "--overwrite")
    (out / "part-001.parquet").unlink()
    assert predict(reviews, shards, out).code == 0
    assert answers(out)["id"].to_list() == list(range(11))
    assert predict(reviews, shards, out, "--json").document["finished_by_earlier_runs"] == 2


def test_a_shard_of_the_same_size_and_other_content_is_changed(reviews: Trained, tmp_path: Path) -> None:
    shards, out = tmp_path / "shards", tmp_path / "answers"
    shards.mkdir()
    (shards / "a.csv").write_text("text\ngood\n", encoding="utf-8")
    predict(reviews, shards, out)
    (shards / "a.csv").write_text("text\nevil\n", encoding="utf-8")
    os.utime(shards / "a.csv", ns=(1, 1))
    misused(predict(reviews, shards, out), "was changed after it was answered")


def test_a_cut_off_file_of_answers_is_written_again(reviews: Trained, tmp_path: Path) -> None:
    """As after a power failure."""
    shards, out = write_shards(tmp_path / "shards", 2, 10), tmp_path / "answers"
    predict(reviews, shards, out)
    os.truncate(out / "part-000.parquet", 7)
    assert predict(reviews, shards, out, "--json").document["finished_by_earlier_runs"] == 1
    assert answers(out)["id"].to_list() == list(range(20))


def test_a_shard_that_is_gone_is_told(reviews: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 2, 10), tmp_path / "answers"
    predict(reviews, shards, out)
    (shards / "part-000.parquet").unlink()
    said = predict(reviews, shards, out)
    assert "1 shard with answers is no longer in" in said.err
    assert ": 10 rows in 1 shard answered" in said.out


def test_bad_shards_are_named_and_the_others_are_answered(reviews: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 5, 10), tmp_path / "answers"
    (shards / "part-000.parquet").write_bytes(b"PAR1 and more")
    pl.DataFrame({"body": ["x"]}).write_parquet(shards / "part-001.parquet")
    pl.DataFrame({"text": [[1]]}).write_parquet(shards / "part-002.parquet")
    pl.DataFrame({"text": ["x"], "confidence": [1]}).write_parquet(shards / "part-003.parquet")
    said = predict(reviews, shards, out)
    misused(
        said,
        "4 shards have no answers, of 5",
        "part-000.parquet: ",
        "cannot be read, it may be damaged",
        "part-001.parquet: there is no column 'text' for the texts (--text); the columns are 'body'",
        "part-002.parquet: the column 'text' holds List(Int64), not text",
        "already has a column 'confidence'",
    )
    assert answers(out)["id"].to_list() == list(range(40, 50))
    for part in range(4):
        (shards / f"part-00{part}.parquet").unlink()
    assert predict(reviews, shards, out).code == 0


def test_a_shard_that_vanishes_meanwhile_is_named(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards, out = write_shards(tmp_path / "shards", 3, 10), tmp_path / "answers"
    answer_shard = prediction_shards.answer_shard

    def removing(*given: object) -> object:
        (shards / "part-001.parquet").unlink(missing_ok=True)
        return answer_shard(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(prediction_shards, "answer_shard", removing)
    misused(predict(reviews, shards, out), "1 shard has no answers, of 3", "No such file: ", "part-001.parquet")
    assert answers(out)["id"].to_list() == [*range(10), *range(20, 30)]


def test_ctrl_c_loses_only_the_shard_in_work(reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards, out = write_shards(tmp_path / "shards", 3, 10), tmp_path / "answers"
    answer_shard = prediction_shards.answer_shard

    def interrupted(*given: object) -> object:
        if len(finished(out)) == 1:
            (out / ".part-001.parquet.writing-here-1").touch()
            signal.raise_signal(signal.SIGINT)
        return answer_shard(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(prediction_shards, "answer_shard", interrupted)
    said = predict(reviews, shards, out, "--overwrite")
    assert said.code == 130
    assert said.out == ""
    assert "stopped; finished shards are kept in" in said.err
    assert said.err.rstrip().endswith(f"--out {out}")  # the command that continues, without --overwrite
    assert sorted(path.name for path in out.iterdir()) == [MANIFEST, "part-000.parquet"]
    monkeypatch.undo()
    assert predict(reviews, shards, out, "--json").document["finished_by_earlier_runs"] == 1
    assert answers(out)["id"].to_list() == list(range(30))


def test_the_exit_code_is_that_of_the_signal_whatever_a_library_makes_of_it(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        raise KeyboardInterrupt  # as Ray does

    monkeypatch.setattr(prediction_shards, "answer_shard", interrupted)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        said = predict(reviews, write_shards(tmp_path / "shards", 1, 10), tmp_path / "answers")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert said.code == 128 + signal.SIGTERM
    assert "stopped; finished shards are kept in" in said.err


@pytest.mark.parametrize(
    ("owner", "name", "left"),
    [(pl.LazyFrame, "sink_parquet", [MANIFEST]), (os, "fsync", [MANIFEST, "part-000.parquet"])],
    ids=["answers", "manifest"],
)
def test_a_full_disk_ends_the_run_and_is_no_fault_of_a_shard(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, left: list[str]
) -> None:
    shards, out = write_shards(tmp_path / "shards", 2, 10), tmp_path / "answers"

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(owner, name, full)
    failed(predict(reviews, shards, out), "No space left on device", str(out))
    assert sorted(path.name for path in out.iterdir()) == left


@pytest.mark.slow
def test_a_killed_run_is_continued(attending: Trained, tmp_path: Path) -> None:
    """It leaves no half answers under their name; what it was writing is removed."""
    shards, out = write_shards(tmp_path / "shards", 12, 2_000), tmp_path / "answers"
    arguments = (attending.folder, "--file", shards, "--out", out)
    run = Running("-m", "glassformer", "predict", *arguments, log=tmp_path / "log")
    run.wait_until(lambda: len(finished(out)) >= 2)
    run.process.send_signal(signal.SIGKILL)
    assert run.end() == -signal.SIGKILL
    done = len(finished(out))
    assert 2 <= done < 12
    with (out / MANIFEST).open("ab") as file:  # a line that was cut off
        file.write(b'{"shard":"part-0')
    (out / ".part-011.parquet.writing-elsewhere-1").touch()
    said = glassformer("predict", *arguments, "--json")
    assert said.document["finished_by_earlier_runs"] == done
    assert answers(out)["id"].to_list() == list(range(24_000))
    assert len(finished(out)) == 12


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--engine", "gpu"), "--engine gpu: choose plain or ray"),
        (("--workers", 2), "--workers goes with --engine ray"),
        (("--engine", "plain", "--address", "localhost:6379"), "--address goes with --engine ray"),
        (("--top-k", 1), "--top-k goes with texts"),
        (("--jsonl",), "--jsonl does not go with --out"),
    ],
)
def test_flags_that_do_not_go_together(reviews: Trained, tmp_path: Path, flags: tuple[object, ...], said: str) -> None:
    shards = write_shards(tmp_path / "shards", 1, 1)
    misused(predict(reviews, shards, tmp_path / "answers", *flags), said)
    assert not (tmp_path / "answers").exists()


def test_a_folder_needs_a_folder_for_its_answers(reviews: Trained, tmp_path: Path) -> None:
    shards = write_shards(tmp_path / "shards", 1, 1)
    misused(glassformer("predict", reviews.folder, "--file", shards), "name a folder for the answers")
    for out in (tmp_path / "ant.xlsx", tmp_path / "ant.CSV", tmp_path / "ant.jsonl.gz"):
        misused(predict(reviews, shards, out), f"--out {out}: {shards} is a folder", "name a folder")
        assert not out.exists()
    misused(predict(reviews, shards, shards / "answers"), "lies in", "name another folder")
    (tmp_path / "taken").touch()
    misused(predict(reviews, shards, tmp_path / "taken"), "is a file; name a folder")
    misused(predict(reviews, shards, reviews.folder), "is a folder with other files in it")
    shutil.copy(reviews.table, tmp_path / "one.csv")
    said = glassformer("predict", reviews.folder, "--file", tmp_path / "one.csv", "--engine", "plain")
    misused(said, "--engine is for a folder of shards")


def test_two_shards_must_not_have_answers_of_one_name(reviews: Trained, tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    for name in ("a.json", "a.jsonl"):
        (shards / name).write_text('{"text": "good"}\n', encoding="utf-8")
    misused(predict(reviews, shards, tmp_path / "answers"), "would both be named a.jsonl")


def test_answers_are_not_replaced_by_those_to_a_shard_of_another_name(reviews: Trained, tmp_path: Path) -> None:
    shards, out = tmp_path / "shards", tmp_path / "answers"
    shards.mkdir()
    (shards / "a.JSONL").write_text('{"text": "good"}\n', encoding="utf-8")
    assert predict(reviews, shards, out).code == 0
    (shards / "a.JSONL").rename(shards / "a.ndjson")
    with nothing_lost(out):
        misused(predict(reviews, shards, out), "a.jsonl holds the answers to 'a.JSONL'", "rename the shard, or delete")
    (out / "a.jsonl").unlink()
    assert predict(reviews, shards, out).code == 0


@pytest.mark.parametrize(
    ("name", "said"), [(b"caf\xe9.json", "is not UTF-8"), (b"a" * 250 + b".json", "is too long for its answers")]
)
def test_a_name_that_answers_cannot_have_is_said_before_any_shard(
    reviews: Trained, tmp_path: Path, name: bytes, said: str
) -> None:
    shards = tmp_path / "shards"
    shards.mkdir()
    for each in (name, b"a" + name[-5:]):  # the odd one is not the first
        (shards / os.fsdecode(each)).write_text('{"text": "good"}\n', encoding="utf-8")
    misused(predict(reviews, shards, tmp_path / "answers"), said, "the file" if b"caf" in name else "shorten it")
    assert not (tmp_path / "answers").exists()


def test_a_shard_may_have_the_longest_name_of_a_file(reviews: Trained, tmp_path: Path) -> None:
    shards, out = tmp_path / "shards", tmp_path / "answers"
    shards.mkdir()
    (shards / ("a" * 251 + ".csv")).write_text("text\ngood\n", encoding="utf-8")
    assert predict(reviews, shards, out).code == 0
    assert answers(out)["text"].to_list() == ["good"]


def test_a_damaged_manifest_is_told(reviews: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 1, 1), tmp_path / "answers"
    predict(reviews, shards, out)
    with (out / MANIFEST).open("a", encoding="utf-8") as file:
        file.write("{}\n")
    failed(predict(reviews, shards, out), "is damaged", "delete the folder")


@pytest.mark.parametrize("name", ["../kept.csv", "..", "", "/kept.csv"])
def test_overwrite_deletes_only_files_in_the_folder(reviews: Trained, tmp_path: Path, name: str) -> None:
    shards, out = write_shards(tmp_path / "shards", 1, 1), tmp_path / "answers"
    predict(reviews, shards, out)
    (tmp_path / "kept.csv").write_text("", encoding="utf-8")
    first, line = (out / MANIFEST).read_text(encoding="utf-8").splitlines()
    edited = json.dumps(json.loads(line) | {"answers": name})
    (out / MANIFEST).write_text(f"{first}\n{edited}\n", encoding="utf-8")
    failed(predict(reviews, shards, out, "--overwrite"), "is damaged")
    assert (tmp_path / "kept.csv").is_file()


def test_the_first_line_of_progress_counts_the_time_before_it(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[float] = []

    def slowly(*_: object, on_progress: Callable[[Progress], None], **__: object) -> Bulk:
        time.sleep(0.1)
        on_progress(Progress(shards=1, finished=0, rows=1))
        return Bulk(shards=1, earlier=0, gone=[], rows=1, unlike=0)

    def in_words(_: Progress, seconds: float) -> str:
        counted.append(seconds)
        return ""

    monkeypatch.setattr(prediction_shards, "answer_folder", slowly)
    monkeypatch.setattr(cli_predict_shards, "words", in_words)
    predict(reviews, write_shards(tmp_path / "shards", 1, 1), tmp_path / "answers")
    assert counted[0] >= 0.1


def test_few_rows_unlike_the_training_data_are_usual(capsys: pytest.CaptureFixture[str]) -> None:
    for unlike, said in ((1, ""), (2, "2 of 150 rows are unlike the training data; 1 in 100 is usual")):
        bulk = Bulk(shards=1, earlier=0, gone=[], rows=150, unlike=unlike)
        cli_predict_shards._warn(bulk, Path("shards"))
        warned = capsys.readouterr().err
        assert said in warned
        assert bool(said) == bool(warned)


def test_progress_in_words() -> None:
    assert words(Progress(shards=40, finished=0), 1.0) == "answering: 0 of 40 shards"
    assert words(Progress(shards=40, finished=0, rows=4_096), 2.0) == "answering: 0 of 40 shards, 4,096 rows, 2,048/s"
    later = Progress(shards=40, finished=3, rows=12_000, rows_left=90_000)
    assert words(later, 10.0) == "answering: 3 of 40 shards, 12,000 rows, 1,200/s, 1 min 15 s left"
