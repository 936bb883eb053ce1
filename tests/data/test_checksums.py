import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from glassformer.data.arrays import Array
from glassformer.data.checksums import (
    SUMS_FILE,
    check_sums,
    damaged,
    digest_of_arrays,
    is_as_written,
    load_arrays,
    read_sums,
    save_arrays,
    write_sums,
)
from glassformer.errors import GlassformerError
from tests.support import flipped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "in" / "b with a space.bin").write_bytes(bytes(range(256)))
    write_sums(tmp_path)
    return tmp_path


def test_files_and_their_sums(folder: Path) -> None:
    assert set(read_sums(folder)) == {"a.txt", "in/b with a space.bin"}
    check_sums(folder)
    (folder / "a.txt").write_text("two")
    with pytest.raises(GlassformerError, match=r"a\.txt is not as it was written.*Copy the folder again; or, .*delete"):
        check_sums(folder)
    check_sums(folder, unread=["a.txt"])
    check_sums(folder, only=["in/b with a space.bin"])
    (folder / "a.txt").unlink()
    check_sums(folder)  # whoever reads it says that it is missing
    assert damaged(folder, read_sums(folder)) == ["a.txt"]
    (folder / SUMS_FILE).unlink()
    check_sums(folder)  # as of an older version


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum")
def test_the_tool_of_the_shell_reads_them(folder: Path) -> None:
    def checked() -> int:
        return subprocess.run(["sha256sum", "--check", SUMS_FILE], cwd=folder, capture_output=True).returncode

    assert checked() == 0
    (folder / "a.txt").write_text("two")
    assert checked() == 1


@pytest.mark.parametrize(
    "line",
    [
        *("hello", f"{'a' * 64} one-space", f"{'a' * 64}  ../out", f"{'a' * 64}  /etc/passwd", f"{'a' * 63}  a.txt"),
        *(f"{'a' * 64}  {'b' * 256}", f"{'a' * 64}  {'b/' * 2_500}b"),
    ],
)
def test_a_list_that_is_none(folder: Path, line: str) -> None:
    with (folder / SUMS_FILE).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(GlassformerError, match=r"SHA256SUMS is damaged: line 3 is no checksum"):
        check_sums(folder)
    (folder / SUMS_FILE).write_bytes(b"\0" * (1 << 21))
    with pytest.raises(GlassformerError, match="too large"):
        check_sums(folder)


def test_arrays_are_whole_or_none(tmp_path: Path) -> None:
    path, said = tmp_path / "a.safetensors", {"read": 3, "of": ["é"]}
    arrays: dict[str, Array] = {
        "ids": np.arange(6, dtype=np.int32).reshape(2, 3).T,
        "none": np.zeros((0, 2)),
        "one": np.array(1.5),
    }
    assert load_arrays(path) is load_arrays(None) is None
    save_arrays(path, arrays, said)
    found = load_arrays(path)
    assert found is not None
    assert found[1] == said
    assert found[0].keys() == arrays.keys()
    assert all(np.array_equal(found[0][name], array) for name, array in arrays.items())
    assert is_as_written(path)
    content = path.read_bytes()
    for at in range(8, len(content), 3):
        path.write_bytes(flipped(content, at))
        kept = load_arrays(path)
        assert kept is None or (kept[1] == said and np.array_equal(kept[0]["ids"], arrays["ids"])), at
    path.write_bytes(flipped(content, -1))
    assert not is_as_written(path)
    save_file({}, path, metadata={"said": "no JSON", "sha256": digest_of_arrays({}, "no JSON")})
    assert load_arrays(path) is None
    path.write_bytes(content[:-1])
    assert load_arrays(path) is None
    assert not is_as_written(path)
