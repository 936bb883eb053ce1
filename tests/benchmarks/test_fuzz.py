import random
import shutil
from pathlib import Path

import pytest

from benchmarks.experiment import RESULTS
from benchmarks.fuzz import cases, judge
from benchmarks.fuzz_cases import WRITERS, change, ending, subjects
from benchmarks.tables_common import read
from glassformer.data.addresses import local_path
from glassformer.data.checksums import SUMS_FILE
from glassformer.data.table import read_table
from glassformer.errors import UsageError
from tests.cli.terminal import Outcome

TABLES = [name for name in subjects() if name.startswith("predict a table")]


def raising(error: BaseException) -> Outcome:
    raise error


@pytest.mark.parametrize(
    ("outcome", "ended"),
    [
        (Outcome(code=0, out="{}", err=""), "answered"),
        (Outcome(code=2, out="", err="note: x\nerror: no such column"), "refused"),
        (Outcome(code=1, out="", err="error: one\nerror: two"), "fault"),
        (Outcome(code=2, out="", err=f"error: {'long ' * 400}"), "fault"),
        (Outcome(code=1, out="", err="Traceback (most recent call last):\nerror: x"), "fault"),
        (Outcome(code=-9, out="", err="error: x"), "fault"),
        (MemoryError(), "fault"),
        (KeyError("label"), "fault"),
        (UsageError("not turned into a message"), "fault"),
    ],
)
def test_an_answer_and_one_sentence_are_no_fault(outcome: Outcome | BaseException, ended: str) -> None:
    read = (lambda: raising(outcome)) if isinstance(outcome, BaseException) else (lambda: outcome)
    assert judge(read)[0] == ended


def test_a_fault_names_the_line_of_ours() -> None:
    ended, said = judge(lambda: read_table(3))  # type: ignore[arg-type]
    assert ended == "fault"
    assert ".py:" in said
    assert "TypeError at " in said or "AttributeError at " in said


@pytest.mark.parametrize("name", TABLES)
def test_a_case_is_a_change_that_its_number_decides(name: str, tmp_path: Path) -> None:
    subject, found = subjects()[name], []
    whole, given = (tmp_path / f"{start}{ending(subject)}" for start in ("whole", "given"))
    subject.make(whole, tmp_path)
    for number in (1, 1, 2):
        shutil.copy(whole, given)
        assert change(given, random.Random(f"{name} {number}"), unsealed=False) == given.name
        found.append(given.read_bytes())
    assert found[0] == found[1]
    assert len({whole.read_bytes(), *found}) == 3


@pytest.mark.parametrize("suffix", WRITERS)
def test_each_table_can_be_read_before_it_is_changed(suffix: str, tmp_path: Path) -> None:
    WRITERS[suffix](tmp_path / f"given{suffix}")
    table = read_table(local_path(str(tmp_path / f"given{suffix}")))
    rows = 120 if suffix == ".zip" else 60  # two tables
    assert (table.text_column, table.label_column, len(table.frame)) == ("text", "label", rows)


def test_of_a_folder_one_file_is_changed_and_its_checksum_removed(tmp_path: Path) -> None:
    for name in ("a.json", "b.bin", SUMS_FILE):
        (tmp_path / name).write_text('{"a": [1, 2, 3]}')
    changed = change(tmp_path, random.Random(0), unsealed=True)
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "b.bin"}
    assert [path.name for path in tmp_path.iterdir() if path.read_text(errors="replace") != '{"a": [1, 2, 3]}'] == [
        changed
    ]


def test_names_take_turns_until_the_time_is_over() -> None:
    taken = [case for case, _ in zip(cases(["a", "b"], 5, 60), range(3), strict=False)]
    assert taken == [("a", 5), ("b", 5), ("a", 6)]
    assert list(cases(["a"], 0, -1)) == []


def test_the_result_has_no_fault() -> None:
    found = read(RESULTS / "fuzz.json")
    assert found["fault"] == 0
    assert {each["read"] for each in found["by_what_is_read"]} == set(subjects())
    assert found["cases"] == found["answered"] + found["refused"] > 9_000
