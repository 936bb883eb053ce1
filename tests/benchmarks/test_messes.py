from pathlib import Path

import pytest

from benchmarks.experiment import RESULTS
from benchmarks.messes import Mess, Read, Refused, judged, messes
from benchmarks.tables_common import read

BY_NAME = {mess.name: mess for mess in messes()}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_mess_is_read_as_it_should_be(name: str, tmp_path: Path) -> None:
    found = judged(BY_NAME[name], tmp_path)
    assert found["right"], found


def test_what_is_read_wrongly_is_not_right(tmp_path: Path) -> None:
    content = b"text,label\ngood,a\nbad,b\n"
    right = Read(rows=2, text="text", label="label", first="good")
    found: dict[Read | Refused, bool] = {
        right: True,
        Read(rows=3, text="text", label="label", first="good"): False,
        Read(rows=2, text="label", label="text", first="good"): False,
        Read(rows=2, text="text", label="label", first="bad"): False,
        Read(rows=2, text="text", label="label", first="good", said=("left out",)): False,
        Read(rows=2, text="text", label="label", first="good", said=("text column", "left out")): False,
        Refused(("text",)): False,
    }
    for expected, is_right in found.items():
        assert judged(Mess("", "a.csv", content, expected), tmp_path)["right"] is is_right
    assert not judged(Mess("", "a.csv", b"", right), tmp_path)["right"]
    for words, is_right in {("is empty",): True, ("header",): False, ("is empty", "header"): False}.items():
        assert judged(Mess("", "a.csv", b"", Refused(words)), tmp_path)["right"] is is_right


def test_the_result_is_of_these_messes_and_all_are_right() -> None:
    result = read(RESULTS / "messes.json")
    assert [each["mess"] for each in result["each"]] == list(BY_NAME)
    assert result["messes"] == result["right"] >= 30
