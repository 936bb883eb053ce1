"""The rows that a command answers: texts that were given, the lines of a pipe, or the rows of a table."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from glassformer.cli.hints import is_file
from glassformer.cli.output import say
from glassformer.data.lines import arriving_lines
from glassformer.errors import UsageError, quoted
from glassformer.prediction.shipped import shown

if TYPE_CHECKING:
    import io

    import polars as pl

    from glassformer.data.formats.format import Delimited
    from glassformer.data.inputs import Inputs
    from glassformer.prediction.answer_files import TextsOf
    from glassformer.prediction.answering import Answering

ROWS_PER_BATCH = 4096
TEXT_IS_A_COLUMN = '--text names a column of the table in --file; a text needs no flag: "a text"'


class KnowsItsColumn(Protocol):
    """What answers texts and knows the column of the training table that they came from."""

    @property
    def text_column(self) -> str | None: ...


def table_file(file: str | None, query: str | None, encoding: str | None, *, typed: bool) -> Path | None:
    """Return the path of the table in --file (see `local_path`).

    Args:
        typed: whether texts were given as arguments, which have no encoding.
    """
    if file is None:
        if query is not None:
            raise UsageError("--query goes with --file; leave it out")
        if encoding is not None and typed:
            raise UsageError("--encoding goes with --file or standard input; leave it out")
        return None
    from glassformer.data.addresses import local_path, with_query

    return local_path(with_query(file, query))


def check_has_columns(model: Path, file: Path) -> None:
    """Refuse a file of texts alone, which a pipe answers."""
    from glassformer.data.class_folders import class_folders
    from glassformer.data.formats.all_formats import format_of
    from glassformer.data.formats.compressions import is_compressed
    from glassformer.data.formats.fasttext import FASTTEXT, MARK
    from glassformer.data.formats.format import Place
    from glassformer.data.formats.text import lines_at

    if class_folders(file) or format_of(file) != FASTTEXT:
        return
    with lines_at(Place(name=str(file), file=file)) as lines:
        if not lines.first.lstrip().startswith(MARK):
            to_do, plain = ("unpack it, and then, ", file.with_suffix("")) if is_compressed(file) else ("", file)
            command = f"glassformer predict {shlex.quote(shown(model))} < {shlex.quote(str(plain))}"
            raise UsageError(f"{file} holds texts without columns; {to_do}to answer each line: {command}")


def check_holds_tables(folder: Path) -> None:
    """Refuse a folder of texts in files of their own."""
    from glassformer.data.formats.all_formats import format_of
    from glassformer.data.formats.fasttext import FASTTEXT, MARK
    from glassformer.data.formats.format import Place
    from glassformer.data.formats.text import lines_at
    from glassformer.data.shards import files_of

    first = files_of(folder)[0]
    if not first.is_dir():
        if format_of(first) != FASTTEXT or not first.is_file():
            return
        with lines_at(Place(name=str(first), file=first)) as lines:
            if lines.first.lstrip().startswith(MARK):
                return
    raise UsageError(
        f"{folder} holds one text in each file, and --file reads tables; write the texts into one table, a row for each"
    )


def text_batches(texts: list[str] | None) -> Iterator[list[str]]:
    """Yield the given texts in batches. Without any, yield the lines of standard input as they arrive."""
    from glassformer.data.tokenizers import batched

    if not texts:
        return arriving_lines(
            cast("io.BufferedIOBase", sys.stdin.buffer), "standard input", most=ROWS_PER_BATCH, on_note=say
        )
    for name in filter(is_file, texts):
        say(f"note: {name} is a file, but it was read as a text; --file {name} answers the rows of the file")
    return batched(texts, ROWS_PER_BATCH)


class Misread:
    """Says it once for each column of numbers if a row holds something else there."""

    def __init__(self, unit: str) -> None:
        self._unit, self._told, self._rows = unit, set[str](), 0

    def add(self, found: Iterable[tuple[str, int, object]], rows: int) -> None:
        """Warn of columns of these rows, each with its name, and the place and the value of the first such row."""
        for name, place, value in found:
            if name not in self._told:
                self._told.add(name)
                where = f"{self._unit} {self._rows + place + 1:,}"
                say(
                    f"warning: {where} has {quoted(value)} in the column {quoted(name)}, which is not a number; such "
                    "values are read as missing"
                )
        self._rows += rows


def given_rows(
    predictor: Answering, lines: list[str], misread: Misread | None = None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return each given text as a row, and what the model reads: the text, or of a row in JSON its inputs.

    Args:
        misread: warns over all calls; None: over this one.
    """
    inputs = predictor.trained.config.inputs
    if inputs is None:
        return [{"text": text} for text in lines], lines
    rows = [inputs.read(line) for line in lines]
    composed = [inputs.compose(row) if row else "" for row in rows]
    odd = ((name, place, value) for place, row in enumerate(rows) for name, value in inputs.misread(row))
    (misread or Misread("text")).add(odd, len(rows))
    return rows, composed


def table_in_batches(
    predictor: KnowsItsColumn, file: Path, text: str | None, *, rows: int | None = None, inputs: Inputs | None = None
) -> tuple[Iterator[pl.DataFrame], TextsOf, Delimited]:
    """Return the batches of a table, a function for their texts, and how its columns are separated.

    Args:
        rows: of a batch; None: `ROWS_PER_BATCH`. The columns are always found by that many rows.
    """
    from glassformer.data.formats.format import Delimited
    from glassformer.data.rows import iterate_rows

    read_as: list[Delimited] = []
    frames = iterate_rows(file, rows_per_batch=ROWS_PER_BATCH, on_delimited=read_as.append, on_note=say)
    first = next(frames)
    texts_of = _texts_of(predictor, inputs, first, str(file), text)
    batches = (
        batch for frame in itertools.chain([first], frames) for batch in frame.iter_slices(rows or ROWS_PER_BATCH)
    )
    return batches, texts_of, read_as[0] if read_as else Delimited()


def _texts_of(
    predictor: KnowsItsColumn, inputs: Inputs | None, sample: pl.DataFrame, source: str, text: str | None
) -> TextsOf:
    from glassformer.data.input_columns import composer
    from glassformer.prediction.answer_files import texts_in

    if inputs is None:
        return texts_in(_text_column(predictor, sample, source, text))
    if text is not None:
        raise UsageError(f"--text: this model reads {inputs.in_words}, by their names; leave it out")
    return composer(sample, inputs, source, on_misread=Misread("row").add)


def _text_column(predictor: KnowsItsColumn, sample: pl.DataFrame, source: str, text: str | None) -> str:
    """Return the column of a table that holds the texts, and say what was noticed about the columns."""
    from glassformer.data.columns import find_columns, same_column
    from glassformer.data.wording import did_you_mean

    learned = same_column(predictor.text_column, sample.columns)
    if text is None and learned is None and predictor.text_column is not None:
        hint = did_you_mean(predictor.text_column, sample.columns)
        said = f"warning: {source} has no column {predictor.text_column!r}, which the model learned from"
        say(f"{said}.{hint}" if hint else said)
    text = text or learned
    columns = find_columns(sample, source, text=text, label=None, group=None, labelled=False)
    for note in columns.notes:
        say(note)
    return columns.text
