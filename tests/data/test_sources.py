from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError

from glassformer.data.sources import SourceConfig, TableOptions, read_like_training, read_sources
from glassformer.data.splits import ValidationConfig
from glassformer.errors import UsageError


def written(path: Path, column: str = "review", rows: int = 4) -> str:
    lines = [f"{column},stars,film"] + [f"text {i} of {path.stem},{i % 2},{i % 3}" for i in range(rows)]
    path.write_text("\n".join(lines))
    return str(path)


def test_files_are_read_with_the_same_columns(tmp_path: Path) -> None:
    source = SourceConfig(
        train=written(tmp_path / "train.csv", rows=6), test=written(tmp_path / "test.csv", rows=5), label="stars"
    )
    validation = ValidationConfig(file=written(tmp_path / "validation.csv"))
    sources = read_sources(source, validation, None)
    assert sources.validation is not None
    assert sources.test is not None
    tables = (sources.train, sources.validation, sources.test)
    assert [table.frame.height for table in tables] == [6, 4, 5]
    assert {table.label_column for table in tables} == {"stars"}


def test_a_table_alone_is_enough(tmp_path: Path) -> None:
    sources = read_sources(SourceConfig(train=written(tmp_path / "t.csv"), label="stars"), ValidationConfig(), None)
    assert sources.validation is None
    assert sources.test is None


def test_the_group_column_is_read(tmp_path: Path) -> None:
    source = SourceConfig(train=written(tmp_path / "train.csv"), label="stars")
    sources = read_sources(source, ValidationConfig(group="film"), None)
    assert sources.train.frame["group"].to_list() == ["0", "1", "2", "0"]


def test_the_column_of_dates_is_read_and_is_no_input(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("text,label,day\na,x,13.1.2024\nb,y,2.1.2024\n")
    sources = read_sources(SourceConfig(train=str(path)), ValidationConfig(time="day"), None)
    assert [time.day for time in sources.train.frame["time"]] == [13, 2]
    for asked, message in (
        (SourceConfig(train=str(path), text="text", columns=("day",)), "both `columns=` and `time=`"),
        (SourceConfig(train=str(path), text="day"), "both `text=` and `time=`"),
        (SourceConfig(train="polarity"), "polarity has the columns text and label"),
    ):
        with pytest.raises(UsageError, match=message):
            read_sources(asked, ValidationConfig(time="day"), None)


def test_rows_without_a_label_are_unlabelled_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question,answer,stars,price\na?,b,1,2\nc?,d,0,3\ne?,,,4\nf?,g,,5\n")
    both = SourceConfig(train=str(path), text="question", other_texts=("answer",), columns=("price",), label="stars")
    sources = read_sources(both, ValidationConfig(), None)
    (texts,) = sources.unlabelled
    assert (texts.texts.to_list(), texts.source, texts.own) == (["e?", "f?", "g"], str(path), True)
    whole = SourceConfig(train=written(tmp_path / "whole.csv"), label="stars")
    assert read_sources(whole, ValidationConfig(), None).unlabelled == ()


def test_a_known_data_set_brings_its_test_rows() -> None:
    sources = read_sources(SourceConfig(train="polarity"), ValidationConfig(), None)
    assert sources.test is not None
    assert not set(sources.train.frame["text"]) & set(sources.test.frame["text"])


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    source = SourceConfig(train=written(tmp_path / "train.csv"), test=str(tmp_path / "absent.csv"), label="stars")
    with pytest.raises(UsageError, match=r"absent\.csv"):
        read_sources(source, ValidationConfig(), None)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="txt"):
        SourceConfig.model_validate({"train": "reviews.csv", "txt": "review"})


def test_a_table_to_measure_on_is_read_as_in_training_where_it_can_be(tmp_path: Path) -> None:
    remembered = SourceConfig(train="t.csv", text="what was said", label="film")
    same = written(tmp_path / "same.csv", column="what was said")
    table = read_like_training(same, remembered, None, labels=())
    assert (table.text_column, table.label_column) == ("what was said", "film")

    other = written(tmp_path / "other.csv", column="review")
    table = read_like_training(other, remembered, None, TableOptions(label="stars"), labels=())
    assert (table.text_column, table.label_column) == ("review", "stars")


def tickets(path: Path, labels: list[str], header: str = "id,Ticket Text,Team,created") -> str:
    rows = [f"T-{n:03},what happened in case {n},{label},2024-01-{n % 28 + 1:02}" for n, label in enumerate(labels)]
    path.write_text("\n".join([header, *rows]))
    return str(path)


LABELS = ["Billing", "billing", "Billing", "Bug"] * 8


def test_labels_are_folded_in_training_and_in_the_table_for_early_stopping(tmp_path: Path) -> None:
    source = SourceConfig(train=tickets(tmp_path / "train.csv", LABELS), fold_labels=True)
    validation = ValidationConfig(file=tickets(tmp_path / "validation.csv", ["BILLING", "BUG"] * 16))
    sources = read_sources(source, validation, None)
    assert sources.train.frame["label"].unique().sort().to_list() == ["Billing", "Bug"]
    assert sources.validation is not None
    assert sources.validation.frame["label"].unique().sort().to_list() == ["Billing", "Bug"]


def test_the_columns_of_training_are_found_again_in_another_order_and_case(tmp_path: Path) -> None:
    train = tickets(tmp_path / "train.csv", LABELS)
    record = {
        "read_as": SourceConfig(train=train).model_dump(),
        "text_column": "Ticket Text",
        "label_column": "Team",
    }
    read_as = SourceConfig.of_training(record)
    assert read_as is not None
    other = tmp_path / "other.csv"
    other.write_text(
        "label,created,TEAM,ticket_text,text\n" + "".join(f"{n % 2},2024-01-01,bug,case {n},x y\n" for n in range(30))
    )
    table = read_like_training(str(other), read_as, None, labels=("Bug",))
    assert (table.text_column, table.label_column) == ("ticket_text", "TEAM")
    assert set(table.frame["label"]) == {"bug"}
    folded = read_like_training(str(other), read_as, None, TableOptions(fold_labels=True), labels=("Bug",))
    assert set(folded.frame["label"]) == {"Bug"}
    as_trained = read_as.model_copy(update={"fold_labels": True})
    again = read_like_training(str(other), as_trained, None, labels=("Bug",))
    assert set(again.frame["label"]) == {"Bug"}


def test_what_is_known_of_training_rows() -> None:
    assert SourceConfig.of_training({"read_as": None}) is None
    known = {"read_as": {"train": "polarity"}, "text_column": "text", "label_column": "label"}
    assert SourceConfig.of_training(known) == SourceConfig(train="polarity")
    old = {"read_as": {"train": "t.csv", "text": None}, "text_column": "said", "label_column": "what"}
    assert SourceConfig.of_training(old) == SourceConfig(train="t.csv", text="said", label="what")


@pytest.mark.parametrize(
    ("header", "asked", "words"),
    [
        (
            "text,when",
            None,
            ("no column 'answer', which the model was trained with, and no column looks like", "'when'"),
        ),
        ("text,state,team", None, ("no column 'answer', which", "it is not clear which column", "'state'", "'team'")),
        ("x,y", None, ("no columns 'text' and 'answer', which", "which column holds the text")),
        ("text,when", "nope", ("no column 'nope' (`label=`)",)),
    ],
)
def test_a_column_of_training_that_is_missing_is_named(
    tmp_path: Path, header: str, asked: str | None, words: tuple[str, ...]
) -> None:
    values = {
        "text": "some words, {n}",
        "when": "2020-01-{n}",
        "state": "{even}",
        "team": "{even}",
        "x": "{n}",
        "y": "{n}",
    }
    columns = header.split(",")
    frame = {name: [values[name].format(n=n, even=n % 2) for n in range(10, 29)] for name in columns}
    pl.DataFrame(frame).write_csv(tmp_path / "test.csv")
    trained = SourceConfig(train="train.csv", text="text", label="answer")
    with pytest.raises(UsageError) as caught:
        read_like_training(str(tmp_path / "test.csv"), trained, None, TableOptions(label=asked), labels=["a", "b"])
    for word in words:
        assert word in str(caught.value)
    assert asked is None or "trained with" not in str(caught.value)
