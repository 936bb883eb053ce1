from pathlib import Path

import pytest

from glassformer.data.table import read_table
from glassformer.errors import UsageError

LINES = "__label__spam win a prize\n\n  __label__ham  see you\tat noon \n__label__ham no __label__x here\n"


def test_a_line_has_its_label_before_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    found = read_table(tmp_path / "a.txt").frame
    assert found["text"].to_list() == ["win a prize", "see you\tat noon", "no __label__x here"]
    assert found["label"].to_list() == ["spam", "ham", "ham"]


def test_a_line_may_have_several_labels_or_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{LINES}__label__spam __label__urgent pay now\nwithout one\n")
    with pytest.raises(UsageError, match=r"lists such as .*multilabel="):
        read_table(tmp_path / "a.txt")
    found = read_table(tmp_path / "a.txt", multilabel="|").frame
    assert found["label"].to_list() == [["spam"], ["ham"], ["ham"], ["spam", "urgent"], []]


def test_other_texts_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text\tlabel\na\tb\n")
    with pytest.raises(UsageError, match=r"a\.txt: a \.txt file is a table if .*extension \.csv or \.tsv"):
        read_table(tmp_path / "a.txt")
