from pathlib import Path
from queue import Queue

import pytest

from benchmarks.planted_bugs import Bug, check, read_bugs, source, tried


def test_every_listed_bug_can_be_planted_today() -> None:
    bugs = read_bugs()
    check(bugs)
    assert len(bugs) >= 40
    assert len({bug.room for bug in bugs}) >= 15


def test_a_bug_that_cannot_be_planted_is_named() -> None:
    bug = Bug(room="layers", file="errors.py", old="no such words", new="others", tests=("test_house.py",))
    with pytest.raises(ValueError, match=r"errors.py has 'no such words' 0 times and not once"):
        check([bug])


@pytest.mark.parametrize(("new", "caught"), [("!!", True), ('"', False)])
def test_a_copy_is_planted_tested_and_mended(new: str, caught: bool, tmp_path: Path) -> None:
    package, tests = tmp_path / "src" / "glassformer", tmp_path / "tests"
    package.mkdir(parents=True)
    tests.mkdir()
    (package / "greeting.py").write_text('GREETING = "hello"\n')
    (package / "__init__.py").touch()
    (tests / "test_greeting.py").write_text(
        "from glassformer.greeting import GREETING\n\n\ndef test_it() -> None:\n    assert GREETING == 'hello'\n"
    )
    bug = Bug(
        room="", file="greeting.py", old='o"', new=f'o{new}"' if caught else "o" + new, tests=("test_greeting.py",)
    )
    free: Queue[Path] = Queue()
    free.put(tmp_path)
    found = tried(free, bug)
    assert found["caught"] is caught
    assert source(tmp_path, bug).read_text() == 'GREETING = "hello"\n'
    assert free.get() == tmp_path
