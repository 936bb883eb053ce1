"""What is fuzzed: files that are read, as programs write them, and what is done to them. A number decides each case."""

from __future__ import annotations

import gzip
import io
import json
import random
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from backports import zstd

from glassformer.data.checksums import SUMS_FILE
from tests.cli.terminal import OF_FEW_ROWS, Outcome, glassformer
from tests.trained import review_rows
from tests.workbooks import xlsx

ODD_BYTES = (
    b"\0", b'"', b"'", b",", b";", b"\t", b"\r", b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"{",
    b"}", b"[", b"]" * 50, b"[" * 2000, b"-1", b"1e999", b"99999999999999999999", b"NaN", b"null", b"\x1b[2J",
    b"=cmd()", b"\\u0000", b"\\ud800", "\u202e".encode(), b"label", b"text", b"\xff\xff\xff\xff", b"\x00\x00\x00\x80",
    b" " * 500,
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, 1e308, -1e-308, "", " ", "\0", "a" * 10_000, "../../x", "\ud800", [],
    {}, [[]], [None], [-1], {"": None}, "NaN", float("nan"), float("inf"),
)  # fmt: skip
ROWS = 60
_MOST_CHANGES = 4
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
        unsealed: the checksums beside the changed file are removed, as whoever wants to do harm would.
    """

    name: str
    make: Callable[[Path, Path], None]
    read: Reading
    unsealed: bool = False


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


def _workbook(path: Path) -> None:
    rows = [["text", "label", "day", "price"], *map(list, table().rows())]
    path.write_bytes(xlsx({"reviews": rows}))


def _encoded(name: str) -> Callable[[Path], None]:
    return lambda path: void(path.write_bytes(table().write_csv().encode(name, errors="replace")))


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
    ".csv.gz": lambda path: void(path.write_bytes(gzip.compress(table().write_csv().encode()))),
    ".jsonl.zst": lambda path: void(path.write_bytes(zstd.compress(table().write_ndjson().encode()))),
    ".zip": _archive,
    ".xlsx": _workbook,
    ".sqlite": _sqlite,
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
        Subject(name=f"{way} a table{ending}", make=_with(write), read=read)
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
        _done(glassformer("export", model, "--format", "onnx", "--out", path))

    def number(path: Path, _: Path) -> None:
        source = path.with_name("numbers.csv")
        table().write_csv(source)
        _done(glassformer("train", source, "--label", "price", "--task", "number", "--out", path, *LIGHT_TRAINING))

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
        Subject(name=f"train with {flag}", make=_with(partial(Path.write_text, data=text)), read=train(flag))
        for flag, text in (("--recipe", recipe), ("--rules", rules), ("--costs", costs))
    ]


def subjects() -> dict[str, Subject]:
    return {each.name: each for each in (*tables(), *folders(), *texts())}


def ending(subject: Subject) -> str:
    """What the file is to be called after its first part."""
    kinds = {"--recipe": ".toml", "--rules": ".txt", "--costs": ".csv"}
    last = subject.name.split()[-1]
    return kinds.get(last) or (last.removeprefix("table") if last.startswith("table.") else "")


def _done(outcome: Outcome) -> None:
    if outcome.code:
        raise RuntimeError(outcome.err)


def change(path: Path, draw: random.Random, *, unsealed: bool) -> str:
    """Change a file, or one file of a folder. Return its name."""
    chosen = path
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != SUMS_FILE)
        chosen = draw.choice(files)
        if unsealed:
            (path / SUMS_FILE).unlink(missing_ok=True)
    content = chosen.read_bytes()
    chosen.write_bytes(_changed(content, draw, json_like=chosen.suffix == ".json"))
    return chosen.name


def _changed(content: bytes, draw: random.Random, *, json_like: bool) -> bytes:
    if json_like and draw.random() < 0.7:
        return _other_values(content, draw)
    if content[:2] == b"PK" and draw.random() < 0.7:
        return _other_member(content, draw)
    for packed, unpack, pack in (
        (b"\x1f\x8b", gzip.decompress, partial(gzip.compress, mtime=0)),
        (b"\x28\xb5\x2f\xfd", zstd.decompress, zstd.compress),
    ):
        if content.startswith(packed) and draw.random() < 0.7:
            return bytes(pack(_other_bytes(unpack(content), draw)))
    return _other_bytes(content, draw)


def _other_bytes(content: bytes, draw: random.Random) -> bytes:
    found, is_text = bytearray(content), _is_text(content)
    for _ in range(draw.randint(1, _MOST_CHANGES)):
        at = draw.randrange(len(found) + 1)
        to = min(len(found), at + draw.choice((1, 1, 2, 8, len(found) // 8)))
        match draw.randrange(6 if is_text else 7):
            case 0:
                found[at:to] = b""
            case 1:
                found[at:at] = found[at:to] * draw.choice((1, 2, 50))
            case 2:
                found[at:at] = draw.choice(ODD_BYTES)
            case 3:
                found[at:to] = draw.choice(ODD_BYTES)
            case 4:
                letters = "".join(chr(draw.choice((32, 44, 0xE9, 0x4E2D)) + draw.randrange(90)) for _ in range(to - at))
                found[at:to] = letters.encode() if is_text else draw.randbytes(to - at)
            case 5:
                del found[at:]
            case 6 if at < len(found):
                found[at] ^= 1 << draw.randrange(8)
    return bytes(found)


def _is_text(content: bytes) -> bool:
    """Whether bytes are UTF-8. Most changes then keep to it: otherwise nothing but its decoder would be tried."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _other_member(content: bytes, draw: random.Random) -> bytes:
    """Change what is in an archive, and pack it again: a changed byte of the archive itself fails its checksum."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name = draw.choice(sorted(members))
    members[name] = _other_bytes(members[name], draw)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, each in members.items():
            file.writestr(zipfile.ZipInfo(name), each, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _other_values(content: bytes, draw: random.Random) -> bytes:
    document = json.loads(content)
    for _ in range(draw.randint(1, 2)):
        place: Any = document
        while isinstance(place, dict | list) and place:
            key = draw.choice(sorted(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.15:
                match draw.randrange(4):
                    case 0:
                        del place[key]
                    case 1 if isinstance(place, dict):
                        place[f"{key}x"] = place.pop(key)
                    case _:
                        place[key] = draw.choice(ODD_VALUES)
                break
            place = place[key]
    return json.dumps(document).encode()
