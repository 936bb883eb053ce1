import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from glassformer.data.arrays import read_array, read_arrays
from glassformer.errors import GlassformerError


def test_arrays_are_read_by_their_names(tmp_path: Path) -> None:
    save_file({"hashes": np.arange(3), "more": np.zeros((2, 4))}, tmp_path / "seen.safetensors")
    assert {name: array.shape for name, array in read_arrays(tmp_path / "seen.safetensors").items()} == {
        "hashes": (3,),
        "more": (2, 4),
    }
    assert read_array(tmp_path / "seen.safetensors", "hashes").tolist() == [0, 1, 2]


def test_says_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    save_file({"more": np.zeros(2)}, tmp_path / "other")
    (tmp_path / "damaged").write_bytes(b"not arrays")
    (tmp_path / "folder").mkdir()
    for name, says in {
        "missing": "is missing; copy the whole folder again",
        "folder": "is not a file; copy it again",
        "damaged": "is cut short or damaged",
        "other": "it holds no 'hashes'",
    }.items():
        with pytest.raises(GlassformerError, match=re.escape(f"{tmp_path / name}") + f".*{says}"):
            read_array(tmp_path / name, "hashes")
