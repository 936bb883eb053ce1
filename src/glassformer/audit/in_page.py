"""The files in the page of an export: they stand there compressed and as letters."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glassformer.exporting.web import FILES

MOST_BYTES = 64 << 20  # of a file that is searched
_EMBEDDED = re.compile(r'<script type="text/plain" data-file="(\w[\w.-]*)">([^<]*)</script>')
_CONFIG = re.compile(r'<script type="application/json" id="config">([^<]*)</script>')
_PLACES = {Path(name).name: name for name in FILES}


def unpack(page: Path, folder: Path) -> Iterator[Path]:
    """Write the files of a page into `folder`, each where a model folder has it, and yield their paths.

    Each is removed before the next is written, as a small page may hold many large files. A file that is damaged, or
    too large to be searched, is written as it stands in the page.
    """
    for name, letters in _EMBEDDED.findall(_source(page)):
        path = folder / _PLACES.get(name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_unpacked(letters))
        yield path
        path.unlink()
        while (path := path.parent) != folder:  # another file may have the name of this folder
            path.rmdir()


def inputs_in(page: Path) -> Any:
    """Return the inputs of the model of a page as JSON. Raises `ValueError` or `LookupError` if it names none."""
    found = _CONFIG.search(_source(page))
    inputs = json.loads(found[1] if found else "")["inputs"]
    for column in inputs["columns"]:
        if column["kind"] != "category":
            del column["values"]  # `Inputs.described` adds them for the page
    return inputs


def _source(page: Path) -> str:
    return page.read_text(encoding="utf-8", errors="replace")


def _unpacked(letters: str) -> bytes:
    try:
        unpacking = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        content = unpacking.decompress(base64.b64decode(letters, validate=True), MOST_BYTES)
    except (ValueError, zlib.error):
        return letters.encode()
    return content if unpacking.eof else letters.encode()
