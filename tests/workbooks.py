"""Write small workbooks by hand: .xlsx, .ods and .xls, as little of each as their readers need."""

import io
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

Rows = Sequence[Sequence[object]]
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_STYLES = {"date": 1, "datetime": 2, "hours": 3, "time": 4}
_NUMBER_FORMATS = (0, 14, 22, 46, 20)


class Cell(str):
    """The XML of a cell: its attributes and what is in it."""


def styled(style: str, value: float) -> Cell:
    """A number that is shown as a date or time."""
    return Cell(f' s="{_STYLES[style]}"><v>{value}</v>')


ERROR = Cell(' t="e"><f>A1/0</f><v>#DIV/0!</v>')
TRUE = Cell(' t="b"><v>1</v>')
UNCOMPUTED = Cell('><f>UPPER("x")</f><v></v>')
FORMULA = Cell(' t="str"><f>UPPER("x")</f><v>X</v>')


def xlsx(sheets: Mapping[str, Rows], *, hidden: Sequence[str] = (), merged: Sequence[str] = ()) -> bytes:
    """A workbook of these sheets. None is an empty cell. Cells such as A2:A4 are merged in each sheet."""
    areas = "".join(f'<mergeCell ref="{area}"/>' for area in merged)
    numbered = list(enumerate(sheets, 1))
    states = dict.fromkeys(hidden, ' state="hidden"')
    book = "".join(f'<sheet name="{escape(n)}" sheetId="{i}" r:id="r{i}"{states.get(n, "")}/>' for i, n in numbered)
    links = "".join(
        f'<Relationship Id="r{i}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i, _ in numbered
    )
    formats = "".join(f'<xf numFmtId="{number}"/>' for number in _NUMBER_FORMATS)
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r" '
            f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{book}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{links}<Relationship '
            f'Id="s" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
            "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs>{formats}</cellXfs></styleSheet>',
            **{
                f"xl/worksheets/sheet{i}.xml": _xlsx_sheet(
                    sheets[name], f"<mergeCells>{areas}</mergeCells>" if areas else ""
                )
                for i, name in numbered
            },
        }
    )


def _xlsx_sheet(rows: Rows, more: str) -> str:
    data = "".join(
        f'<row r="{y}">' + "".join(_xlsx_cell(f"{chr(64 + x)}{y}", cell) for x, cell in enumerate(row, 1)) + "</row>"
        for y, row in enumerate(rows, 1)
    )
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{data}</sheetData>{more}</worksheet>'


def _xlsx_cell(place: str, cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Cell):
        return f'<c r="{place}"{cell}</c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(cell)}</t></is></c>'
    return f'<c r="{place}"><v>{cell}</v></c>'


def ods(sheets: Mapping[str, Rows]) -> bytes:
    """A workbook of LibreOffice."""
    spaces = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "table", "text")}
    tables = "".join(
        f'<table:table table:name="{escape(name)}">'
        + "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    used = " ".join(f'xmlns:{name}="{uri}"' for name, uri in spaces.items())
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
        f'manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    content = f"<office:document-content {used}>{body}</office:document-content>"
    return zipped({"mimetype": kind, "META-INF/manifest.xml": manifest, "content.xml": content})


def _ods_cell(cell: object) -> str:
    if cell is None:
        return "<table:table-cell/>"
    if isinstance(cell, Cell):
        return f"<table:table-cell{cell}</table:table-cell>"
    kind, value = ("string", "") if isinstance(cell, str) else ("float", f' office:value="{cell}"')
    text = escape(str(cell))
    return f'<table:table-cell office:value-type="{kind}"{value}><text:p>{text}</text:p></table:table-cell>'


def xls(sheets: Mapping[str, Rows]) -> bytes:
    """A workbook of Excel 97: the stream of its records, in the first sectors of a file of 512-byte sectors."""

    def record(kind: int, content: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    def begun(kind: int) -> bytes:
        return record(0x809, struct.pack("<HHHHII", 0x600, kind, 0, 0, 0, 0))

    def cell(y: int, x: int, value: object) -> bytes:
        place = struct.pack("<HHH", y, x, 0)
        if isinstance(value, str):
            return record(0x204, place + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))
        return record(0x203, place + struct.pack("<d", value))

    bodies = [
        begun(0x10)
        + b"".join(cell(y, x, v) for y, row in enumerate(rows) for x, v in enumerate(row) if v is not None)
        + record(0xA)
        for rows in sheets.values()
    ]
    titles = [struct.pack("<BB", len(name), 1) + name.encode("utf-16-le") for name in sheets]
    place = len(begun(5)) + sum(4 + 6 + len(title) for title in titles) + len(record(0xA))
    book = begun(5)
    for title, body in zip(titles, bodies, strict=True):
        book += record(0x85, struct.pack("<IH", place, 0) + title)
        place += len(body)
    stream = (book + record(0xA) + b"".join(bodies)).ljust(4096, b"\0")
    return compound("Workbook", stream)


def compound(name: str, stream: bytes) -> bytes:
    """A compound file with one stream. Sector 0 holds the table of sectors, 1 the directory, the others the stream."""
    n_sectors = -(-len(stream) // 512)
    end, free, of_table, none = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF
    chain = [of_table, end, *range(3, 2 + n_sectors), end]
    table = struct.pack("<128I", *chain, *[free] * (128 - len(chain)))

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        text = name.encode("utf-16-le") + b"\0\0"
        head = text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text), kind, 1, none, none, child)
        return head + b"\0" * 36 + struct.pack("<IQ", start, size)

    entries = entry("Root Entry", 5, 1, end, 0) + entry(name, 2, none, 2, len(stream))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16
    header += struct.pack("<HHHHH6xIIIIIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, end, 0, end, 0)
    header += struct.pack("<109I", 0, *[free] * 108)
    return header + table + entries.ljust(512, b"\0") + stream.ljust(n_sectors * 512, b"\0")


def zipped(files: Mapping[str, str]) -> bytes:
    """A zip archive of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


WRITERS: dict[str, Callable[[Mapping[str, Rows]], bytes]] = {".xlsx": xlsx, ".ods": ods, ".xls": xls}


def write_workbook(path: Path, sheets: Mapping[str, Rows]) -> Path:
    """Write a workbook of the kind that its extension says."""
    path.write_bytes(WRITERS[path.suffix](sheets))
    return path
