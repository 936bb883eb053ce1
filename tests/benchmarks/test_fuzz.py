import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.experiment import RESULTS
from benchmarks.fuzz import cases, judge, watched
from benchmarks.fuzz_cases import WRITERS, Subject
from benchmarks.fuzz_changes import change
from benchmarks.fuzz_kept import subjects
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
        (Outcome(code=1, out="", err="error: out of memory; close other programs"), "fault"),
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
    whole, given = (tmp_path / f"{start}{subject.ending}" for start in ("whole", "given"))
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


@pytest.mark.parametrize(
    ("code", "leaves", "ended"),
    [
        (0, {}, "answered"),
        (0, {"out": "whole"}, "answered"),
        (0, {"given": "changed"}, "fault"),
        (0, {".out.writing-host-7": "half"}, "fault"),
        (2, {"out": "half"}, "fault"),
        (2, {}, "refused"),
    ],
)
@pytest.mark.parametrize("same", [False, True])
def test_what_a_command_leaves_and_answers(
    code: int, leaves: dict[str, str], ended: str, same: bool, tmp_path: Path
) -> None:
    def reading(given: Path, _: Path) -> Outcome:
        for name, content in leaves.items():
            given.with_name(name).write_text(content)
        return Outcome(code=code, out="an answer", err="error: no" if code else "")

    (given := tmp_path / "given").write_text("as it was")
    subject = Subject(name="x", make=lambda *_: None, read=reading, same=same)
    assert judge(lambda: watched(subject, given, tmp_path, "an answer"))[0] == ended
    given.write_text("as it was")
    another = "fault" if same and ended == "answered" else ended
    assert judge(lambda: watched(subject, given, tmp_path, "another answer"))[0] == another


@pytest.mark.parametrize("suffix", [".sqlite", ".csv.bz2", ".csv.xz"])
def test_some_changes_are_inside_of_what_a_checksum_or_structure_protects(suffix: str, tmp_path: Path) -> None:
    """Such a file can still be read."""
    WRITERS[suffix](tmp_path / f"whole{suffix}")
    frames = []
    for number in range(20):
        given = Path(shutil.copy(tmp_path / f"whole{suffix}", tmp_path / f"{number}{suffix}"))
        change(given, random.Random(number), unsealed=False)
        with suppress(UsageError):
            frames.append(read_table(local_path(given)).frame)
    assert len(frames) > 2


def test_the_results_have_no_fault() -> None:
    found, more = read(RESULTS / "fuzz.json"), read(RESULTS / "fuzz-more.json")
    assert found["fault"] == more["fault"] == 0
    assert {each["read"] for both in (found, more) for each in both["by_what_is_read"]} == set(subjects())
    assert found["cases"] == found["answered"] + found["refused"] > 9_000
    assert more["cases"] == more["answered"] + more["refused"] > 1_000
