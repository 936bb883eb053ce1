from pathlib import Path

import pytest
from backports import zstd

from glassformer.data.formats import compressions
from glassformer.data.rows import iterate_rows
from glassformer.errors import UsageError


def test_zstd_without_its_package_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv.zst"
    path.write_bytes(zstd.compress(b"text\nx\n"))
    monkeypatch.setattr(compressions, "_ZSTD", None)
    with pytest.raises(UsageError, match=r"pip install .*\[zstd\]'; or decompress it: zstd -d .*a\.csv\.zst"):
        next(iterate_rows(path, rows_per_batch=1))
