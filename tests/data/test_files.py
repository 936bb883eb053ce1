from pathlib import Path

import pytest

from glassformer.data.files import written_aside


def test_a_file_is_there_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with written_aside(path) as aside:
        aside.write_text("after")
        assert path.read_text() == "before"
    assert [file.read_text() for file in tmp_path.iterdir()] == ["after"]


def test_nothing_changes_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError), written_aside(path) as aside:
        aside.write_text("half, then \ud800", encoding="utf-8")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["before"]
