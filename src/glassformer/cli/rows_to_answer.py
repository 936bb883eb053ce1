"""The rows that a command answers: texts that were given, the lines of a pipe, or the rows of a table."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from glassformer.cli.hints import is_file
from glassformer.cli.output import say, say_note
from glassformer.data.lines import arriving_lines
from glassformer.errors import UsageError, quoted
from glassformer.prediction.shipped import shown

if TYPE_CHECKING:
    import io

    import polars as pl

    from glassformer.data.formats.format import Delimited
    from glassformer.prediction.answer_files import TextsOf
    from glassformer.prediction.answering import Answering

ROWS_PER_BATCH = 4096
TEXT_IS_A_COLUMN = '--text names a column of the table in --file; a text needs no flag: "a text"'


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
    from glassformer.data.formats.compressions import is_compressed

    if not class_folders(file) and _holds_texts_alone(file):
        to_do, plain = ("unpack it, and then, ", file.with_suffix("")) if is_compressed(file) else ("", file)
        command = f"glassformer predict {shlex.quote(shown(model))} < {shlex.quote(str(plain))}"
        raise UsageError(f"{file} holds texts without columns; {to_do}to answer each line: {command}")


def check_holds_tables(folder: Path) -> None:
    """Refuse a folder of texts in files of their own."""
    from glassformer.data.shards import files_of

    first = files_of(folder)[0]
    if first.is_dir() or (first.is_file() and _holds_texts_alone(first)):
        raise UsageError(
            f"{folder} holds one text in each file, and --file reads tables; write the texts into one table, a row for "
            "each"
        )


def _holds_texts_alone(file: Path) -> bool:
    from glassformer.data.formats.all_formats import format_of
    from glassformer.data.formats.fasttext import FASTTEXT, MARK
    from glassformer.data.formats.format import Place
    from glassformer.data.formats.text import lines_at

    if format_of(file) != FASTTEXT:
        return False
    with lines_at(Place(name=str(file), file=file)) as lines:
        return not lines.first.lstrip().startswith(MARK)


def text_batches(texts: list[str] | None) -> Iterator[list[str]]:
    """Yield the given texts in batches. Without any, yield the lines of standard input as they arrive."""
    from glassformer.data.tokenizers import batched

    if not texts:
        return arriving_lines(
            cast("io.BufferedIOBase", sys.stdin.buffer), "standard input", most=ROWS_PER_BATCH, on_note=say_note
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
    predictor: Answering, file: Path, text: str | None, *, rows: int = ROWS_PER_BATCH
) -> tuple[Iterator[pl.DataFrame], TextsOf, Delimited]:
    """Return the batches of a table, a function for their texts, and how its columns are separated.

    Args:
        rows: of a batch. The columns are always found by `ROWS_PER_BATCH`.
    """
    from glassformer.data.formats.format import Delimited
    from glassformer.data.input_columns import composer
    from glassformer.data.rows import iterate_rows
    from glassformer.data.shards import files_of
    from glassformer.prediction.answer_files import texts_in

    read_as: list[Delimited] = []
    files_of(file, say_note)  # of an archive, it names what is left out
    frames = iterate_rows(file, rows_per_batch=ROWS_PER_BATCH, on_delimited=read_as.append, on_note=say_note)
    first = next(frames)
    if (inputs := predictor.trained.config.inputs) is None:
        texts_of = texts_in(_text_column(predictor, first, str(file), text))
    elif text is None:
        texts_of = composer(first, inputs, str(file), on_misread=Misread("row").add)
    else:
        raise UsageError(f"--text: this model reads {inputs.in_words}, by their names; leave it out")
    batches = (batch for frame in itertools.chain([first], frames) for batch in frame.iter_slices(rows))
    return batches, texts_of, read_as[0] if read_as else Delimited()


def _text_column(predictor: Answering, sample: pl.DataFrame, source: str, text: str | None) -> str:
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
