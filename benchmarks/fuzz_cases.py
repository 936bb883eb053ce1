"""What is fuzzed: files that are read, as programs write them, and what is done to them. A number decides each case."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from backports import zstd

from tests.cli.terminal import OF_FEW_ROWS, Outcome, glassformer
from tests.trained import review_rows
from tests.workbooks import ods, xls, xlsx

ROWS = 60
LIGHT_TRAINING = (*OF_FEW_ROWS, "--set", "model.body=none", "--device", "cpu")
NO_TRANSFORMER = ("--set", "validation.min_rows=10", "--set", "model.body=none", "--set", "training.epochs=0")

Reading = Callable[[Path, Path], Outcome]
"""Run a command on the changed file or folder. The other path is a model that can answer."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Something that is read.

    Attributes:
        make: writes it, unchanged, to a path.
        read: the command that reads it.
        ending: of the name of what it writes.
        unsealed: the checksums beside the changed file are removed, as whoever wants to do harm would.
        same: a checksum protects all that decides the answer. If there is one, it is that of the unchanged file.
        writes: the command also writes to what it reads.
    """

    name: str
    make: Callable[[Path, Path], None]
    read: Reading
    ending: str = ""
    unsealed: bool = False
    same: bool = False
    writes: bool = False


def table() -> pl.DataFrame:
    texts, labels = zip(*review_rows(ROWS), strict=True)
    more = {"day": [f"2026-01-{1 + at % 28:02}" for at in range(ROWS)], "price": [at / 3 for at in range(ROWS)]}
    return pl.DataFrame({"text": texts, "label": labels, **more}).with_columns(
        text=pl.when(pl.int_range(pl.len()) % 7 == 0).then(pl.lit('say "ßü", 🙂\nand more')).otherwise("text")
        + pl.int_range(pl.len()).cast(pl.String)
    )


def _sqlite(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE reviews (text TEXT, label TEXT, day TEXT, price REAL)")
        connection.executemany("INSERT INTO reviews VALUES (?, ?, ?, ?)", table().rows())
    connection.close()


def _archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("one.csv", table().write_csv())
        file.writestr("two.csv", table().write_csv())


def _duckdb(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE reviews (text TEXT, label TEXT, day TEXT, price DOUBLE)")
        connection.executemany("INSERT INTO reviews VALUES (?, ?, ?, ?)", table().rows())


def _workbook(write: Callable[[Mapping[str, Any]], bytes]) -> Callable[[Path], None]:
    rows = [["text", "label", "day", "price"], *map(list, table().rows())]
    return lambda path: void(path.write_bytes(write({"reviews": rows})))


def _fasttext(path: Path) -> None:
    lines = (f"__label__{label.split()[0]} {text}" for text, label in review_rows(ROWS))
    path.write_text("\n".join(lines), encoding="utf-8")


def _encoded(name: str) -> Callable[[Path], None]:
    return lambda path: void(path.write_bytes(table().write_csv().encode(name, errors="replace")))


def _packed(pack: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda path: void(path.write_bytes(pack(table().write_csv().encode())))


def void(_: Any) -> None:
    return None


WRITERS: Mapping[str, Callable[[Path], None]] = {
    ".csv": lambda path: table().write_csv(path),
    ".utf-16.csv": _encoded("utf-16"),
    ".cp1252.csv": _encoded("cp1252"),
    ".tsv": lambda path: table().write_csv(path, separator="\t"),
    ".jsonl": lambda path: table().write_ndjson(path),
    ".json": lambda path: void(path.write_text(json.dumps(table().to_dicts(), indent=1))),
    ".parquet": lambda path: table().write_parquet(path),
    ".arrow": lambda path: table().write_ipc(path),
    ".txt": _fasttext,
    ".csv.gz": _packed(gzip.compress),
    ".csv.bz2": _packed(bz2.compress),
    ".csv.xz": _packed(lzma.compress),
    ".jsonl.zst": lambda path: void(path.write_bytes(zstd.compress(table().write_ndjson().encode()))),
    ".zip": _archive,
    ".xlsx": _workbook(xlsx),
    ".ods": _workbook(ods),
    ".xls": _workbook(xls),
    ".sqlite": _sqlite,
    ".duckdb": _duckdb,
}


def _with(write: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    """What is written without a model."""
    return lambda path, _: void(write(path))


def tables() -> list[Subject]:
    """Each kind of table, read as `labels` reads it for training, and as `predict` reads it."""
    ways: dict[str, Reading] = {
        "train": lambda path, _: glassformer(
            "train", path, "--label", "label", "--out", path.parent / "out", "--overwrite", *NO_TRANSFORMER,
        ),
        "predict": lambda path, model: glassformer("predict", model, "--file", path),
    }  # fmt: skip
    return [
        Subject(name=f"{way} a table{ending}", make=_with(write), read=read, ending=ending)
        for ending, write in WRITERS.items()
        for way, read in ways.items()
    ]


def folders() -> list[Subject]:
    """Model folders and exports, without checksums."""

    def answer(path: Path, _: Path) -> Outcome:
        return glassformer("predict", path, "a good film", "poor play", "--json")

    def explain(path: Path, _: Path) -> Outcome:
        return glassformer("explain", path, "a good film", "--json")

    def copied(path: Path, model: Path) -> None:
        shutil.copytree(model, path)

    def exported(path: Path, model: Path) -> None:
        done(glassformer("export", model, "--format", "onnx", "--out", path))

    def number(path: Path, _: Path) -> None:
        source = path.with_name("numbers.csv")
        table().write_csv(source)
        done(glassformer("train", source, "--label", "price", "--task", "number", "--out", path, *LIGHT_TRAINING))

    return [
        Subject(name="predict with a model folder", make=copied, read=answer, unsealed=True),
        Subject(name="explain with a model folder", make=copied, read=explain, unsealed=True),
        Subject(name="predict with a model of a number", make=number, read=answer, unsealed=True),
        Subject(name="predict with an ONNX export", make=exported, read=answer, unsealed=True),
    ]


def texts() -> list[Subject]:
    """Recipes, rules and costs, which people write by hand."""
    model = '[model]\nbody = "none"\npreset = "tiny"\nd_model = 16\n\n'
    recipe = f"[validation]\nmin_rows = 10\n\n{model}[training]\nepochs = 0\nlearning_rate = 1e-3\n"
    rules = '# what decides\n"good film" -> very good\n/po+r/ -> "not, good" always\n"dull" -> "not, good" 2.5\n'
    costs = "truth,answer,cost\nvery good,,3\n,review,0.3\n"

    def train(flag: str) -> Reading:
        def read(path: Path, model: Path) -> Outcome:
            return glassformer(
                "train", model.parent / "table.csv", "--label", "label", "--out", path.parent / "out", "--overwrite",
                *NO_TRANSFORMER, flag, path,
            )  # fmt: skip

        return read

    return [
        Subject(
            name=f"train with {flag}", make=_with(partial(Path.write_text, data=text)), read=train(flag), ending=ending
        )
        for flag, text, ending in (
            ("--recipe", recipe, ".toml"),
            ("--rules", rules, ".txt"),
            ("--costs", costs, ".csv"),
        )
    ]


def done(outcome: Outcome) -> None:
    """Raise `RuntimeError` if a command failed that makes what is read."""
    if outcome.code:
        raise RuntimeError(outcome.err)
