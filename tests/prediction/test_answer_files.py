import json
import zipfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassformer.data.formats.columnar import scanned
from glassformer.data.formats.format import Delimited
from glassformer.data.rows import iterate_rows
from glassformer.errors import UsageError
from glassformer.prediction import answer_files
from glassformer.prediction.answer_files import Columns, json_answers, refuse_taken, rows_of, texts_in, written_like
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.shards import Answered, Job, Unanswered, answer_shard
from tests.prediction.samples import small_trained_model


def answered_frame(predictor: Predictor, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.hstack(predictor.answer(texts_in("review")(frame)).columns())


def frames() -> Iterator[pl.DataFrame]:
    yield pl.DataFrame({"place": ["1", "2", "3"], "review": ["i loved it", None, "  "], "place_right": ["x", "y", "z"]})
    yield pl.DataFrame({"place": ["4"], "review": [""], "place_right": ["u"]})
    yield pl.DataFrame({"place": ["5", "6"], "review": ["the plot is thin", "not at all"], "place_right": ["v", "w"]})


def test_a_table_keeps_its_columns_and_rows_and_gains_the_answers() -> None:
    predictor = Predictor(small_trained_model(temperature=1.3))
    answered = pl.concat([answered_frame(predictor, frame) for frame in frames()])
    before = pl.concat(frames())
    assert answered.columns == [
        *before.columns,
        "prediction",
        "confidence",
        "probability_bad",
        "probability_fine",
        "probability_good",
        "unseen_share",
        "unlike_training",
    ]
    assert answered.select(before.columns).equals(before)
    assert answered["prediction"].is_null().to_list() == [False, True, True, True, False, False]
    assert answered.filter(pl.col("prediction").is_null())[:, 3:].null_count().row(0) == (3,) * 7
    expected = predictor.answer(["i loved it", "the plot is thin", "not at all"])
    filled = answered.drop_nulls("prediction")
    assert filled["prediction"].to_list() == expected.predictions()
    np.testing.assert_allclose(filled["confidence"].to_numpy(), expected.confidences, atol=1e-5)
    np.testing.assert_allclose(filled[:, -5:-2].to_numpy(), expected.probs, atol=1e-5)


def test_probabilities_are_written_with_six_decimals() -> None:
    predictor = Predictor(small_trained_model())
    numbers = answered_frame(predictor, next(frames()))[:1, -6:-2].write_csv(include_header=False).strip().split(",")
    assert all(len(number) <= len("0.123456") for number in numbers)


def test_several_labels_stand_in_one_cell() -> None:
    predictor = Predictor(small_trained_model(multilabel=True, temperature=1.3))
    frame = answered_frame(predictor, next(frames()))
    assert frame["prediction"][0] == "|".join(predictor.answer(["i loved it"]).predictions()[0])


@pytest.mark.parametrize("taken", ["probability_bad", "prediction"])
def test_a_column_that_is_already_there_is_refused(taken: str) -> None:
    added = small_trained_model().config.target.columns
    clashing = pl.DataFrame({"review": ["it"], taken: ["0"]})
    with pytest.raises(UsageError, match=rf"new\.csv already has a column '{taken}'"):
        refuse_taken(clashing, added, "new.csv")


def test_a_record_is_the_row_with_its_answer() -> None:
    predictor = Predictor(small_trained_model())
    frame = pl.DataFrame(
        {"review": ["i loved it\u2028", None], "day": [date(2024, 2, 29), None], "n": [float("nan"), 2]}
    )
    answers = predictor.answer(texts_in("review")(frame))
    written: list[str] = []
    json_answers(written.extend, Delimited(), source="new.csv")(frame, answers)
    first, second = map(json.loads, written)
    assert first == {"review": "i loved it\u2028", "day": "2024-02-29", "n": None} | next(answers.records())
    nothing = dict.fromkeys(key for key in answers.record_keys if key != "readers")
    assert second == {"review": None, "day": None, "n": 2.0} | nothing


def test_rows_of_json_are_never_those_of_other_answers(tmp_path: Path) -> None:
    """Whatever is left out of a frame, a row keeps its own values."""
    table = tmp_path / "a.jsonl"
    table.write_text("".join(f'{{"n": {n}, "deep": [{n}, null]}}\n' for n in range(6)))
    read_as: list[Delimited] = []
    (frame,) = iterate_rows(table, rows_per_batch=10, on_delimited=read_as.append)
    (like,) = read_as
    rows = [row for part in (frame[:1], frame[2:3], frame[3:3], frame[4:]) for row in rows_of(part, like)]
    assert rows == [{"n": n, "deep": [n, None]} for n in (0, 2, 4, 5)]
    assert list(rows_of(frame[:1], like)) == [{"n": "0", "deep": "[0, null]"}], "it has been written"
    assert list(Columns(frame[:0].rename(str.upper)).lines(rows_of(frame[:0], like))) == []


@pytest.mark.parametrize("rows", [3, 2, 0])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_answers_never_stand_beside_rows_that_were_written_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, rows: int
) -> None:
    """Parquet keeps the columns of its table, which are read again at the end."""
    table, out = tmp_path / f"t{suffix}", tmp_path / "answers"
    out.mkdir()
    write = pl.DataFrame.write_parquet if suffix == ".parquet" else pl.DataFrame.write_ipc
    read, later = pl.DataFrame({"text": ["a", "b", "c"]}), pl.DataFrame({"text": ["x", "y", "z"][:rows]})
    predictor, job = Predictor(small_trained_model()), Job(model=tmp_path, out=out, text_column="text")
    write(read, table)
    answered = answer_shard(predictor, job, table, None, lambda _: None)
    assert isinstance(answered, Answered)
    assert pl.read_parquet(answered.aside)["text"].to_list() == ["a", "b", "c"]

    def overwritten(path: Path) -> pl.LazyFrame:
        write(later, path)
        return scanned(path)

    monkeypatch.setattr(answer_files, "scanned", overwritten)
    refused = answer_shard(predictor, job, table, None, lambda _: None)
    assert isinstance(refused, Unanswered)
    assert "changed while it was read" in refused.error.message
    assert not list(out.iterdir())


@pytest.mark.parametrize(
    ("rows", "separator", "commas"),
    [
        ("text;n;version\na;3,5;1.2\nb;;1.10\nc;1.234,50 €;1.3\n", ";", True),
        ("text\tn\na\t0,5\nb\t7\n", ";", True),  # a CSV of it, which Excel opens
        ("text;n\na;3.5\nb;4,5\n", ";", False),
        ("text;n\na;3,5 km\n", ";", False),
        ("text;n\na;3\n", ";", False),
        ("text,n\na,3\n", ",", False),
        ('text,followers\na,"1,5"\n', ",", False),
        ("text;followers\na;1,234\nb;999\n", ";", False),  # a thousand
        ("text;n\na;0,125\n", ";", True),
        ("\ufefftext;n\na;1.234\n", ";", True),  # as Excel writes it where it has decimal commas
        ("\ufefftext;n\na;0.125\n", ";", False),
        ("\ufefftext,n\na,1\n", ",", False),
        ("text;n\n", ";", False),
    ],
)
def test_a_csv_of_other_rows_is_written_for_the_program_of_the_table(
    rows: str, separator: str, commas: bool, tmp_path: Path
) -> None:
    table = tmp_path / ("t.tsv" if "\t" in rows else "t.csv")
    table.write_text(rows if rows.count("\n") > 1 else f"{rows}a;3\n", encoding="utf-8")
    mark = rows.startswith("\ufeff")
    assert written_like(table) == Delimited(separator=separator, decimal_comma=commas, mark=mark)
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.write(table, table.name)
    assert written_like(tmp_path / f"z.zip#{table.name}") == written_like(table)
