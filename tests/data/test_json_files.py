import tracemalloc
from pathlib import Path

from glassformer.data.json_files import read_bounded


def test_a_small_file_takes_little_memory_where_a_large_one_may_be_read(tmp_path: Path) -> None:
    """A gigabyte was reserved for the words of each body, which some machines refuse."""
    (tmp_path / "words.txt").write_bytes(b"words")
    tracemalloc.start()
    try:
        assert read_bounded(tmp_path / "words.txt", 1 << 30, "words.txt") == b"words"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
