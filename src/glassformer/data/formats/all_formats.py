"""Every format by its extensions, and where a table is that the user named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from glassformer.data.formats.archive import ZIP, files_in, is_archive, streamed, unpacked
from glassformer.data.formats.columnar import ARROW, PARQUET
from glassformer.data.formats.compressions import OPENERS, is_compressed
from glassformer.data.formats.delimited import CSV, TSV
from glassformer.data.formats.fasttext import FASTTEXT
from glassformer.data.formats.format import Format, Heard, Place
from glassformer.data.formats.json_lines import JSON_LINES
from glassformer.data.formats.workbook import WORKBOOK, refuse_lock
from glassformer.data.parts import MARK, PartError, split_part, with_part
from glassformer.errors import UsageError, quoted

ALL: tuple[Format, ...] = (CSV, TSV, JSON_LINES, PARQUET, ARROW, WORKBOOK, FASTTEXT)
FORMATS = {extension: kind for kind in ALL for extension in kind.extensions}
EXTENSIONS = (*FORMATS, *OPENERS, ZIP)
"""The last extensions that a table can have."""
_SHOWN = 8
_NOTES = re.compile(r"(read[-_]?me|licen[cs]e|copying|citation|changelog)(\..*)?", re.IGNORECASE)
_DOCUMENTS = (".docx", ".doc", ".odt", ".rtf", ".pptx", ".ppt", ".pdf", ".numbers", ".gsheet")
_NO_TABLES = (".md", ".rst", ".pdf", ".py", ".ipynb")
_MOST_TABLES = 1_000  # of an archive: for each of them, the list of all is read


@dataclass(frozen=True, kw_only=True)
class Located:
    """Where a table is.

    Attributes:
        address: what the user wrote, or of one of several tables in an archive, what names it.
        member: of an archive: the file in it.
    """

    address: Path
    path: Path
    member: str | None
    part: str | None
    format: Format

    @contextmanager
    def opened(self, **heard: Unpack[Heard]) -> Iterator[Place]:
        """Give the place to read from. A member of an archive is unpacked if its format cannot be read as a stream."""
        place = Place(name=str(self.address), file=self.path, part=self.part, **heard)
        if self.member is None:
            yield place
            return
        streams = self.format.is_text and not is_compressed(Path(self.member))
        with (streamed if streams else unpacked)(self.path, self.member) as file:
            try:
                yield replace(place, file=file)
            except PartError as error:
                parts = {f"{self.member}{MARK}{part}": size for part, size in error.parts.items()}
                raise PartError(error.message, self.path, parts) from None


def located(address: Path) -> list[Located]:
    """Return where the table of an address is: in one file, or in several files of one archive.

    Raises:
        UsageError: the extension is none of a table, the format has no parts, or the archive holds no such file, no
            table, very many, or tables of several formats.
    """
    path, part = split_part(address)
    if not is_archive(path):
        return [_located(address, path, None, part)]
    names = files_in(path)
    if part is not None:
        member, inner = _split_member(path, part, names)
        return [_located(address, path, member, inner)]
    tables = [name for name in names if _format_of_name(name) not in (None, FASTTEXT)]  # a README is no table
    if not tables:
        way_out = ""
        if any(_format_of_name(name) == FASTTEXT and "/" in name for name in names):
            way_out = " Texts without a table need a folder for each class, two or more, and nothing else."
        raise UsageError(f"{path} holds no table{': ' + _listed(names) if names else ', it is empty'}.{way_out}")
    if len(tables) > _MOST_TABLES:
        raise UsageError(f"{path} holds {len(tables):,} tables; unpack it, and name the folder, which is read faster")
    found = [_located(with_part(path, name) if len(tables) > 1 else path, path, name, None) for name in tables]
    if other := next((one for one in found if one.format != found[0].format), None):
        several = f"{quoted(tables[0])} and {quoted(other.member or '')}"
        message = f"{path} holds tables of several formats, such as {several}; name one of them:"
        raise PartError(message, path, dict.fromkeys(tables, ""))
    return found


def format_of(address: Path) -> Format:
    """Return the format of a table, by its extension. A compression is skipped. Raises what `located` raises."""
    return located(address)[0].format


def is_note(path: Path) -> bool:
    """Whether a file is no table, by its name: a README, a licence. Another file, such as a text, may hold rows."""
    may_hold_rows = _format_of_name(path.name) not in (None, FASTTEXT)
    return not may_hold_rows and (_NOTES.fullmatch(path.name) is not None or path.suffix.lower() in _NO_TABLES)


def _located(address: Path, path: Path, member: str | None, part: str | None) -> Located:
    name = path.name if member is None else member
    kind = _format_of_name(name)
    if kind is None and Path(name).suffix.lower() in _DOCUMENTS:
        raise UsageError(
            f"{address} is a document and no table. If it holds one, copy that into a spreadsheet program, and save it "
            "there as .xlsx or CSV."
        )
    if kind is None:
        raise UsageError(
            f"{address}: the extension does not say what kind of table this is. Known: {', '.join(FORMATS)}; text "
            f"formats may be compressed as {', '.join(OPENERS)}, and all may stand in a {ZIP}."
        )
    if kind is WORKBOOK:
        refuse_lock(Path(name).name)
    if part is not None and not kind.parts:
        raise UsageError(f"{address}: {quoted(name)} is one table, so it has no {quoted(part)}; leave out {MARK}{part}")
    return Located(address=address, path=path, member=member, part=part, format=kind)


def _format_of_name(name: str) -> Format | None:
    path = Path(name)
    if not is_compressed(path):
        return FORMATS.get(path.suffix.lower())
    kind = FORMATS.get(Path(path.stem).suffix.lower())
    return kind if kind and kind.is_text else None


def _split_member(path: Path, part: str, names: list[str]) -> tuple[str, str | None]:
    """Return the member of an archive, and the part of it that is named behind a second `#`."""
    if part in names:
        return part, None
    if end := next((end for end, character in enumerate(part) if character == MARK and part[:end] in names), None):
        return part[:end], part[end + 1 :]
    raise UsageError(f"{path} holds no {quoted(part)}. It holds {_listed(names) if names else 'nothing'}.")


def _listed(names: list[str]) -> str:
    return ", ".join(map(quoted, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")
