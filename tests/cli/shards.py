"""Folders of shards for the tests, and their answers."""

from pathlib import Path

import polars as pl

from glassformer.prediction.shard_manifest import MANIFEST
from tests.data.test_folder_encoding import FRENCH


def write_shards(folder: Path, shards: int, rows: int, kind: str = "parquet") -> Path:
    """Write shards with numbered rows, in which no text occurs twice."""
    folder.mkdir()
    for shard in range(shards):
        ids = range(shard * rows, (shard + 1) * rows)
        texts = [f"a {('good', 'bad')[number % 2]} film {number}" for number in ids]
        frame = pl.DataFrame({"id": ids, "text": texts})
        path = folder / f"part-{shard:03}.{kind}"
        if kind == "csv":
            frame.write_csv(path)
        else:
            frame.write_parquet(path)
    return folder


def write_french(folder: Path) -> Path:
    """Write shards of one text in Windows-1252, of which some are misread alone."""
    folder.mkdir()
    for place, text in enumerate(FRENCH):
        (folder / f"{place:02}.csv").write_bytes(f'text\n"{text}"\n'.encode("cp1252"))
    return folder


def answers(out: Path) -> pl.DataFrame:
    """Return all answers in the order of the files. There are no other files than answers and the manifest."""
    files = sorted(path for path in out.iterdir() if path.name != MANIFEST)
    (kind,) = {path.suffix for path in files}
    return pl.concat([pl.read_csv(path) if kind == ".csv" else pl.read_parquet(path) for path in files])


def finished(out: Path) -> list[str]:
    """Return the lines of the finished shards in the manifest."""
    path = out / MANIFEST
    return path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
