from pathlib import Path

import pytest
from pydantic import ValidationError

from glassformer.data.sources import SourceConfig, read_like_training, read_sources
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
    table = read_like_training(same, remembered, None, text=None, label=None, multilabel=None, labels=())
    assert (table.text_column, table.label_column) == ("what was said", "film")

    other = written(tmp_path / "other.csv", column="review")
    table = read_like_training(other, remembered, None, text=None, label="stars", multilabel=None, labels=())
    assert (table.text_column, table.label_column) == ("review", "stars")
