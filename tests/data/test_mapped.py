"""Large frames lie in mapped files, and hold what frames in memory hold."""

import gc
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest

from glassformer.data import arrays
from glassformer.data import mapped as module
from glassformer.data.arrays import blocks, gathered, mapping_in
from glassformer.data.mapped import filtered, mapped
from glassformer.errors import GlassformerError

ROWS = 5_000
TEXTS = ["", "twelve bytes", "thirteen byte", "ü" * 6, "ü" * 7, "\0", "漢字" * 40, "a plain text of some words"]


@pytest.fixture
def frame() -> pl.DataFrame:
    texts = [TEXTS[row % len(TEXTS)] + str(row) * (row % 3) for row in range(ROWS)]
    rest = {"number": range(ROWS), "weight": [row / 7 for row in range(ROWS)], "empty": [""] * ROWS}
    some = [None if row % 5 == 0 else "some" for row in range(ROWS)]
    lists = [["a"] * (row % 4) for row in range(ROWS)]
    return pl.DataFrame({"text": texts, **rest, "some": some, "lists": lists}).with_row_index("row")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where frames of a few rows are large."""
    gc.collect()  # frames of other tests
    monkeypatch.setattr(module, "_BYTES_AT_ONCE", 20_000)
    return tmp_path


def lies_in_file(frame: pl.DataFrame) -> bool:
    return frame.n_chunks() > 1


def test_a_large_frame_lies_in_files_as_it_is_in_memory(frame: pl.DataFrame, folder: Path) -> None:
    parts = list(frame.iter_slices(700))
    with mapping_in(folder / "not there" / "yet"):
        found = mapped(iter(parts))
    assert lies_in_file(found)
    assert module._HELD
    assert not list(folder.iterdir())  # the files have no names
    assert found.schema == frame.schema
    assert found.equals(frame)
    assert found.sort("text", "row").equals(frame.sort("text", "row"))


def test_rows_of_a_frame_outlive_it(frame: pl.DataFrame, folder: Path) -> None:
    keep = frame["row"] % 3 > 0
    gc.collect()
    before = len(module._HELD)
    with mapping_in(folder):
        whole = mapped(frame.iter_slices(700))
        one = whole["text"][11]
        some = filtered(whole, keep)
        del whole
    assert one == frame["text"][11]
    assert lies_in_file(some)
    assert some.equals(frame.filter(keep))
    assert len(module._HELD) > before
    del some
    gc.collect()
    assert len(module._HELD) == before  # the files are gone


def test_small_frames_and_those_without_a_folder_stay_in_memory(frame: pl.DataFrame, folder: Path) -> None:
    assert not lies_in_file(mapped([frame]))
    with mapping_in(folder):
        assert mapped([frame.head(10)]).equals(frame.head(10))
        assert filtered(frame.head(10), frame["row"].head(10) > 4).equals(frame[5:10])
    assert not module._HELD


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what is left open cannot be written
def test_a_folder_without_room_is_named(frame: pl.DataFrame, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_MOST_IN_MEMORY", 20_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    said = f"nothing more can be written in {re.escape(str(folder))}: .*; .* are free there"
    try:
        with mapping_in(folder):
            with pytest.raises(GlassformerError, match=said):
                mapped(frame.iter_slices(700))
            with pytest.raises(GlassformerError, match=said):
                gathered(blocks(np.arange(20_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    gc.collect()


@pytest.mark.parametrize(("module", "name"), [(tempfile, "TemporaryFile"), (np, "memmap")])
def test_if_nothing_can_be_written_or_mapped_frames_stay_in_memory(
    module: Any, name: str, frame: pl.DataFrame, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, Mock(side_effect=PermissionError))
    with mapping_in(folder):
        assert mapped(frame.iter_slices(700)).equals(frame)


def test_rows_of_which_none_is_left(frame: pl.DataFrame, folder: Path) -> None:
    with mapping_in(folder):
        assert filtered(frame, frame["row"] < 0).equals(frame.clear())


def test_a_column_with_more_bytes_than_views_can_say_stays_in_memory(
    frame: pl.DataFrame, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 10)
    with mapping_in(folder):
        found = mapped(frame.select("text").iter_slices(700))
    assert not module._HELD
    assert found.equals(frame.select("text"))


def test_a_program_may_end_with_frames() -> None:
    lines = (
        "import polars as pl, tempfile, pathlib, glassformer.data.mapped as module",
        "from glassformer.data.arrays import mapping_in",
        "module._BYTES_AT_ONCE = 100",
        "with mapping_in(pathlib.Path(tempfile.gettempdir())):",
        "    frame = module.mapped([pl.DataFrame({'text': ['a text of some words'] * 20})] * 3)",
        "print(len(frame), len(module._HELD))",
        "del module",
    )
    run = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "60 3\n", "")
