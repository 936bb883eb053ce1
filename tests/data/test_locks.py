import errno
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.data.locks import LOCK_FILE, check_free, only_writer
from glassformer.errors import UsageError

HOLDS = """
import os, sys
from pathlib import Path
from glassformer.data.locks import only_writer
with only_writer(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """A process that has the folder until its standard input ends."""
    running = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "held\n"
    return running


def test_another_process_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with holder(folder) as other:
        since = json.loads((folder / LOCK_FILE).read_text())["since"]
        words = rf"out is in use by process {other.pid} on {platform.node()}, since {since[:16]}.*; wait until that run"
        with pytest.raises(UsageError, match=words), only_writer(folder):
            pytest.fail("two write")
        with pytest.raises(UsageError, match=words):
            check_free(folder)
        other.communicate("")
    with only_writer(folder):
        assert json.loads((folder / LOCK_FILE).read_text())["pid"] == os.getpid()
    assert not folder.exists(), "it was made for nothing"


def test_what_a_killed_process_left_is_no_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        other.kill()
        other.wait()
    assert (tmp_path / LOCK_FILE).exists()
    check_free(tmp_path)
    with only_writer(tmp_path):
        assert json.loads((tmp_path / LOCK_FILE).read_text())["pid"] == os.getpid()
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_full_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(platform, "node", full)
    with pytest.raises(UsageError, match="No space left"), only_writer(tmp_path / "out"):
        pytest.fail("nothing can be written")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "no JSON", "[]", '{"pid": 1}', '{"pid": 1, "host": "h", "since": "s"}'])
def test_a_file_that_nobody_holds_is_no_lock(content: str, tmp_path: Path) -> None:
    """Whatever it says: a number of a process that is another one by now, or of another machine."""
    (tmp_path / LOCK_FILE).write_text(content)
    with only_writer(tmp_path):
        (tmp_path / "kept").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_second_run_of_the_same_process_is_refused(tmp_path: Path) -> None:
    with only_writer(tmp_path):
        with pytest.raises(UsageError, match="is in use"), only_writer(tmp_path):
            pytest.fail("two write")
        with pytest.raises(UsageError, match="is in use"):
            check_free(tmp_path)
    check_free(tmp_path)


def test_it_is_given_back_when_something_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), only_writer(tmp_path / "a" / "b"):
        raise KeyboardInterrupt
    assert not (tmp_path / "a").exists()


def test_the_folder_may_be_gone(tmp_path: Path) -> None:
    with only_writer(tmp_path / "out"):
        (tmp_path / "out" / LOCK_FILE).unlink()
        (tmp_path / "out").rmdir()
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name, words in (("file", "is a file; name a folder"), ("file/below", "nothing can be written there"),
                        ("loop", "is a link that leads nowhere"), ("loop/below", "nothing can be")):  # fmt: skip
        with pytest.raises(UsageError, match=words), only_writer(tmp_path / name):
            pytest.fail("it is none")
