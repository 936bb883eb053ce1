"""Arrays that are gathered part by part, in memory and in a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.data import arrays
from glassformer.data.arrays import Array, Gathered, mapping_in

PARTS = [np.arange(5, dtype=np.int32), np.zeros(0, np.int32), np.arange(90, 93, dtype=np.int32)]
WHOLE = [0, 1, 2, 3, 4, 90, 91, 92]


def whole_of() -> Array:
    found = Gathered()
    for part in PARTS:
        found.add(part)
    return found.whole()


def is_mapped(array: Array) -> bool:
    base: Any = array
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return base is not None


@pytest.mark.parametrize("most", [0, 25, 1_000])
def test_the_parts_are_one_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(arrays, "_MOST_IN_MEMORY", most)
    with mapping_in(tmp_path):
        found = whole_of()
    assert found.tolist() == WHOLE
    assert found.dtype == np.int32
    assert is_mapped(found) == (most < 32)  # bytes of all parts
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_memory_holds_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_MOST_IN_MEMORY", 0)
    found = whole_of()
    assert found.tolist() == WHOLE
    assert not is_mapped(found)
