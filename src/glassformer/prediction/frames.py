"""Answer the rows of frames: the partitions of a Spark job, or what MLflow hands to a model."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.column_kinds import is_opaque
from glassformer.data.columns import same_column
from glassformer.data.in_memory_rows import plain
from glassformer.data.input_columns import composer
from glassformer.data.inputs import Inputs, is_too_large
from glassformer.errors import UsageError, brief_value, quoted
from glassformer.prediction.answer_files import TextsOf, refuse_taken, texts_in
from glassformer.prediction.answering import Answering
from glassformer.prediction.load_answering import load_once
from glassformer.prediction.shipped import folder_of

Frame = Any
"""A frame of pandas."""
_SHOWN = 8  # columns in a message
_WRITTEN = str | int | float | Decimal | date | time
_TYPES = {str: "string", float: "double", bool: "boolean"}


def text_reader(predictor: Answering, sample: pl.DataFrame, text_column: str, source: str) -> TextsOf:
    """Return a function for the texts, or the composed rows, of frames like this one.

    Raises:
        UsageError: a column is missing, or does not hold what it should.
    """
    inputs = predictor.trained.config.inputs
    if inputs is not None:
        return composer(sample, inputs, source)
    column = _column(sample.columns, text_column)
    if is_opaque(dtype := sample.schema[column]):
        raise UsageError(f"the column {quoted(column)} holds {dtype}, not text")
    return texts_in(column)


def _column(columns: Sequence[str], wanted: str, inputs: Inputs | None = None) -> str:
    """Return the column of this name. The message names no value: it may end in the log of a cluster."""
    column = same_column(wanted, columns)
    if column is None:
        said = " for the texts (`text=`)" if inputs is None else f"; this model reads {inputs.in_words}"
        more = ", …" if len(columns) > _SHOWN else ""
        raise UsageError(
            f"there is no column {quoted(wanted)}{said}; the columns are "
            f"{', '.join(map(quoted, columns[:_SHOWN])) or 'none'}{more}"
        )
    return column


@dataclass(frozen=True)
class FrameScorer:
    """A model as a function from pandas frames to the same frames with answers, which other processes can be sent.

    Each process reads the model once. `frame.mapInPandas(score, score.schema(frame))` answers a frame of Spark.

    Attributes:
        model: its folder, under the same path on each machine.
    """

    model: Path
    text: str | None = None
    device: str = "cpu"

    @property
    def predictor(self) -> Answering:
        return load_once(self.model, self.device)

    @property
    def text_column(self) -> str:
        return self.text or self.predictor.text_column or "text"

    @property
    def added(self) -> dict[str, str]:
        """The columns of the answers with their types, which Spark and MLflow name alike."""
        return {name: _TYPES[kind] for name, kind in self.predictor.trained.config.target.columns.items()}

    def __call__(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        """Yield each frame with the columns of `added`.

        Raises:
            UsageError: the frame lacks a column, or has one of these already.
        """
        for frame in frames if isinstance(frames, Iterable) else [frames]:
            if not hasattr(frame, "assign"):  # iterating one frame gives the names of its columns
                raise UsageError(
                    f"frames of pandas are answered, not a value of type {type(frame).__name__}; give a list of frames"
                )
            yield frame.assign(**self.answers(frame))

    def answers(self, frame: Frame) -> dict[str, list[Any]]:
        """Return the columns of the answers. Raises what calling it raises."""
        needed = self._needed([name for name in frame if isinstance(name, str)])  # pandas also knows numbers and pairs
        rows = pl.DataFrame({name: _values(frame[name]) for name in needed})
        read = text_reader(self.predictor, rows, self.text_column, "the frame")
        return self.predictor.answer(read(rows)).columns().to_dict(as_series=False)

    def _needed(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that the model reads. Raises what calling it raises."""
        inputs = self.predictor.trained.config.inputs
        asked = (self.text_column,) if inputs is None else inputs.names
        needed = [_column(columns, name, inputs) for name in asked]
        if twice := [name for name in needed if columns.count(name) > 1]:
            raise UsageError(f"the frame has several columns {quoted(twice[0])}; rename the others")
        refuse_taken(pl.DataFrame(schema=dict.fromkeys(columns, pl.Null)), self.added, "the frame")
        return needed

    def schema(self, frame: Any) -> str:
        """Return the columns of a frame of Spark and those of its answers, as Spark writes a schema.

        Raises:
            UsageError: it is no frame of Spark, lacks a column, or has one of the answers already. A job would say so
                only after several tries.
        """
        try:
            columns = [(str(name), str(kind)) for name, kind in frame.dtypes]
        except (AttributeError, TypeError, ValueError) as error:
            raise UsageError(f"give a frame of Spark, not a value of type {type(frame).__name__}") from error
        self._needed([name for name, _ in columns])
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in (*columns, *self.added.items()))


def _values(column: Any) -> pl.Series:
    """Return a column of pandas. A missing value is None there. Values of several types become text."""
    values = [plain(value) for value in column.astype(object).where(column.notna(), None).tolist()]
    try:
        return _series(values, column.name)
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the column {quoted(column.name)} holds half of a surrogate pair, which is not a character"
        ) from error


def _series(values: list[Any], name: str) -> pl.Series:
    if any(map(is_too_large, values)):
        raise UsageError(f"the column {quoted(name)} holds a whole number that is too large")
    try:
        return pl.Series(values)
    except (
        TypeError,
        OverflowError,
        RuntimeError,
    ) as error:  # of several types, or too large: not strict, polars drops such values
        if odd := [value for value in values if not isinstance(value, _WRITTEN | None)]:
            raise UsageError(f"the column {quoted(name)} holds {type(odd[0]).__name__}, not text") from error
        return pl.Series([None if value is None else str(value) for value in values])


def score(model: str | Path, *, text: str | None = None) -> FrameScorer:
    """Return a model as a function that answers partitions: `frame.mapInPandas(score, score.schema(frame))` in Spark.

    Args:
        model: a model folder or an export, under the same path on each machine; or `sentiment-en`.

    Raises:
        UsageError: it is no model, or reads several inputs and `text` is given.
    """
    if text is not None and not (isinstance(text, str) and text):
        raise UsageError(f"`text={brief_value(text)}`: give the name of a column")
    found = FrameScorer(folder_of(model).absolute(), text)
    inputs = found.predictor.trained.config.inputs
    if inputs is not None and text is not None:
        raise UsageError(f"`text={text!r}`: this model reads {inputs.in_words}, by their names; leave it out")
    return found
