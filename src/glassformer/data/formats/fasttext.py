"""Read labelled lines as fastText does: `__label__spam win a prize` (Joulin et al. 2017)."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator

import polars as pl

from glassformer.data.formats.format import Place
from glassformer.data.formats.text import Lines, TextFormat
from glassformer.errors import UsageError

MARK = "__label__"
_LABELS = re.compile(rf"(?:{MARK}(\S+)\s*)+")


class FastText(TextFormat):
    """A text in each line, behind its label. Several are a list, as in JSON lines; a line may have none."""

    name = "fasttext"
    extensions = (".txt",)
    written = ".csv"

    def of_lines(self, lines: Lines, place: Place, rows_per_batch: int) -> Iterator[pl.DataFrame]:
        if not lines.first.lstrip().startswith(MARK):
            raise UsageError(
                f"{place.name}: a .txt file is a table if its lines begin with labels, as fastText has them: "
                f"{MARK}spam win a prize. Is it a table with a header? Give it the extension .csv or .tsv."
            )
        rows = map(_split, filter(str.strip, lines.whole))
        while batch := list(itertools.islice(rows, rows_per_batch)):
            yield pl.DataFrame(batch, schema={"text": pl.String, "label": pl.String}, orient="row")


FASTTEXT = FastText()


def _split(line: str) -> tuple[str, str | None]:
    found = _LABELS.match(line.lstrip())
    if found is None:
        return line.strip(), None
    labels = re.findall(rf"{MARK}(\S+)", found[0])
    return line.lstrip()[found.end() :].strip(), labels[0] if len(labels) == 1 else json.dumps(labels)
