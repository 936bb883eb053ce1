"""What is done to files that are fuzzed: a number decides which byte, value, line or member is changed, and how."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import sqlite3
import zipfile
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from backports import zstd

from glassformer.data.checksums import SUMS_FILE

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
ODD_CELLS: tuple[Any, ...] = (
    None, -1, 0, 2**62, 1e308, -0.5, float("inf"), "", " ", "\0", "null", "{}", "[]", "[1]", "[" * 2000, '"x"', "-1",
    "NaN", "../../x", "a" * 10_000, b"\xff\x00",
)  # fmt: skip
_MOST_CHANGES = 4


def change(path: Path, draw: random.Random, *, unsealed: bool) -> str:
    """Change a file, or one file of a folder. Return its name."""
    chosen = path
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != SUMS_FILE)
        chosen = draw.choice(files)
        if unsealed:
            (path / SUMS_FILE).unlink(missing_ok=True)
    content = chosen.read_bytes()
    chosen.write_bytes(_changed(content, draw, chosen.suffix))
    return chosen.name


def _changed(content: bytes, draw: random.Random, suffix: str) -> bytes:
    if suffix == ".json" and draw.random() < 0.7:
        return _other_values(content, draw)
    if suffix == ".jsonl" and draw.random() < 0.4:
        lines = content.splitlines(keepends=True)
        at = draw.randrange(len(lines))
        return b"".join([*lines[:at], _other_values(lines[at], draw) + b"\n", *lines[at + 1 :]])
    if content[:2] == b"PK" and draw.random() < 0.7:
        return _other_member(content, draw)
    if content.startswith(b"SQLite format 3") and draw.random() < 0.7:
        return _other_cell(content, draw)
    for packed, unpack, pack in (
        (b"\x1f\x8b", gzip.decompress, partial(gzip.compress, mtime=0)),
        (b"\x28\xb5\x2f\xfd", zstd.decompress, zstd.compress),
        (b"BZh", bz2.decompress, bz2.compress),
        (b"\xfd7zXZ", lzma.decompress, lzma.compress),
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


def _other_cell(content: bytes, draw: random.Random) -> bytes:
    """Change a cell of a database, or take its row away."""
    plain = content[:18] + b"\1\1" + content[20:]  # without a log of changes, which is a file of its own
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        opened.deserialize(plain)
        tables = [name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: opened.execute(f"SELECT rowid, * FROM {name} ORDER BY rowid") for name in tables}
        columns = {name: [column[0] for column in found.description[1:]] for name, found in rows.items()}
        table, cells = draw.choice([(name, cells) for name, found in rows.items() if (cells := found.fetchall())])
        row = draw.choice(cells)
        at = draw.randrange(len(columns[table]))
        value: Any = draw.choice(ODD_CELLS)
        if isinstance(row[at + 1], str) and row[at + 1][:1] in '[{"' and draw.random() < 0.7:
            value = _other_values(b"[%s]" % row[at + 1].encode(), draw).decode()[1:-1]
        try:
            opened.execute(f"UPDATE {table} SET {columns[table][at]} = ? WHERE rowid = ?", (value, row[0]))
        except sqlite3.Error:
            opened.execute(f"DELETE FROM {table} WHERE rowid = ?", row[:1])
        return opened.serialize()


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
