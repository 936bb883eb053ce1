"""Answer the rows of frames: the partitions of a Spark job, or what MLflow hands to a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.column_kinds import is_opaque
from glassformer.data.columns import same_column
from glassformer.data.input_columns import composer
from glassformer.errors import UsageError, brief_value, quoted
from glassformer.prediction.answer_files import TextsOf, refuse_taken, texts_in
from glassformer.prediction.answering import Answering
from glassformer.prediction.load_answering import load_once
from glassformer.prediction.shipped import folder_of

Frame = Any
"""A frame of pandas."""
_SHOWN = 8  # columns in a message
_TYPES = {str: "string", float: "double", bool: "boolean"}


def text_reader(predictor: Answering, sample: pl.DataFrame, text_column: str, source: str) -> TextsOf:
    """Return a function for the texts, or the composed rows, of frames like this one.

    Raises:
        UsageError: a column is missing, or does not hold what it should.
    """
    inputs = predictor.trained.config.inputs
    return texts_in(_column(sample, text_column)) if inputs is None else composer(sample, inputs, source)


def _column(frame: pl.DataFrame, wanted: str) -> str:
    column = same_column(wanted, frame.columns)
    if column is None:
        more = ", …" if len(frame.columns) > _SHOWN else ""
        raise UsageError(
            f"there is no column {quoted(wanted)} for the texts (`text=`); the columns are "
            f"{', '.join(quoted(name) for name in frame.columns[:_SHOWN])}{more}"
        )
    if is_opaque(dtype := frame.schema[column]):
        raise UsageError(f"the column {quoted(column)} holds {dtype}, not text")
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
        for frame in frames:
            if not hasattr(frame, "assign"):  # iterating one frame gives the names of its columns
                raise UsageError(f"frames of pandas are answered, not {brief_value(frame)}; give a list of frames")
            yield frame.assign(**self.answers(frame))

    def answers(self, frame: Frame) -> dict[str, list[Any]]:
        """Return the columns of the answers. Raises what calling it raises."""
        predictor = self.predictor
        inputs = predictor.trained.config.inputs
        asked = (self.text_column,) if inputs is None else inputs.names
        named = [name for name in frame if isinstance(name, str)]  # pandas also knows numbers and pairs
        needed = {same_column(name, named) for name in asked}
        if twice := [name for name in needed if name and named.count(name) > 1]:
            raise UsageError(f"the frame has several columns {quoted(twice[0])}; rename the others")
        rows = pl.DataFrame({name: _values(frame[name]) if name in needed else [None] * len(frame) for name in named})
        read = text_reader(predictor, rows, self.text_column, "the frame")
        refuse_taken(rows, self.added, "the frame")
        return predictor.answer(read(rows)).columns().to_dict(as_series=False)

    def schema(self, frame: Any) -> str:
        """Return the columns of a frame of Spark and those of its answers, as Spark writes a schema."""
        columns = [*frame.dtypes, *self.added.items()]
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in columns)


def _values(column: Any) -> pl.Series:
    """Return a column of pandas. A missing value is None there."""
    try:
        return pl.Series(column.astype(object).where(column.notna(), None).tolist(), strict=False)
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the column {quoted(column.name)} holds half of a surrogate pair, which is not a character"
        ) from error


def score(model: str | Path, *, text: str | None = None) -> FrameScorer:
    """Return a model as a function that answers partitions: `frame.mapInPandas(score, score.schema(frame))` in Spark.

    Args:
        model: a model folder or an export, under the same path on each machine; or `sentiment-en`.

    Raises:
        UsageError: it is no model.
    """
    found = FrameScorer(folder_of(model).absolute(), text)
    _ = found.predictor
    return found
