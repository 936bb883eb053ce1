"""Rows in bytes, not in Python objects: the table of a run is as large as its file, a few times over."""

import subprocess
import sys

import pytest

N_ROWS = 200_000
BYTES_PER_ROW = 500  # measured: 180 to 230; with a numpy string for each label 1,350

SPLIT = f"""
from pathlib import Path
import numpy as np, polars as pl
from glassformer.data.splits import ValidationConfig, make_splits
from glassformer.data.table import Table
peak = lambda: 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
labels = pl.Series([f"label {{n}} of a long name" * 5 for n in range(7)])
frame = pl.DataFrame({{"text": np.arange({N_ROWS}), "label": labels[np.arange({N_ROWS}) % 7]}})
frame = frame.with_columns(text=pl.format("a text of some words, {{}}", "text")).with_row_index("row", offset=1)
table = lambda rows: Table(frame=rows, source="a", text_column="text", label_column="label")
make_splits(table(frame[:5_000]), ValidationConfig(), seed=0)  # enough rows to split, so that scikit-learn is imported
before = peak()
make_splits(table(frame), ValidationConfig(), seed=0)
print((peak() - before) / {N_ROWS})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel keeps no peak to read")
def test_splitting_takes_few_bytes_for_each_row() -> None:
    done = subprocess.run([sys.executable, "-c", SPLIT], capture_output=True, text=True, check=True)
    assert 0 < float(done.stdout) < BYTES_PER_ROW
