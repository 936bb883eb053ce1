"""A page with a table of a benchmark."""

import json
from pathlib import Path
from typing import Any

from benchmarks.tables import kinds
from benchmarks.tables_common import fill

BLOCK = "# A page\n\n<!-- {} -->\nold\n<!-- end -->\n\nmore\n"
PROVENANCE: dict[str, Any] = {
    "command": "python -m benchmarks.a imdb",
    "machine": {"architecture": "abc", "system": "Linux", "cores": 5, "python": "3.12.4"}
    | {"threads": 3, "processor": "Abacus 7"},
    "versions": {"torch": "2.13.0"},
    "commit": "0123456789abcdef",
}


def shown(kind: str, name: str, folder: Path, document: dict[str, Any]) -> str:
    """The page, filled with the figures of `document`. Filling it again changes nothing."""
    file = folder / kind / f"{name}.json"
    file.parent.mkdir()
    file.write_text(json.dumps(document | PROVENANCE), encoding="utf-8")
    text = fill(BLOCK.format(f"{kind}: {name}"), kinds(folder))
    assert fill(text, kinds(folder)) == text
    assert text.startswith(f"# A page\n\n<!-- {kind}: {name} -->\n")
    assert text.endswith("\n<!-- end -->\n\nmore\n")
    assert "5 cores (Abacus 7), 3 threads; `p" in text
    return text
