"""Record where the rows of a run come from. They can then be read again, to resume or to train a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import not_
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from glassformer.data.addresses import Source, local_path, with_query, without_password
from glassformer.data.columns import Wanted, find_columns, same_column
from glassformer.data.dates import with_dates
from glassformer.data.documents import Documents, rows_without_label
from glassformer.data.encodings import named_encoding, reading_as
from glassformer.data.input_columns import check_inputs, composed, described, learn_inputs
from glassformer.data.inputs import Inputs
from glassformer.data.known import KNOWN, Split, is_there, resolve
from glassformer.data.labels import ordered_labels
from glassformer.data.spellings import flat_labels, fold_labels, spellings, stand_ins
from glassformer.data.splits import Splits, ValidationConfig, joined, make_splits, with_added
from glassformer.data.table import Table, first_rows
from glassformer.data.wording import counted, listed
from glassformer.errors import UsageError, quoted

Task = Literal["classes", "several", "ordered", "number"]
"""What is to be learned: one class per text, several labels per text, ordered classes, or a number."""

_SPELLINGS_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The tables of a run. Only `train` is needed.

    Attributes:
        test: texts that must not be trained on. The table is used for nothing else.
        unlabelled: texts that are read without labels, beside those of `train`. None of them may be held out (see
            `admitted`). Rows of `train` and `added` that have no label are among them.
        added: tables of rows that a model learns later, after those of `train` (see `with_added`).
        replay: the share of all rows before the last added table that the transformer learns again.
    """

    train: Table
    validation: Table | None = None
    test: Table | None = None
    unlabelled: tuple[Documents, ...] = ()
    added: tuple[Table, ...] = ()
    replay: float = 1.0

    @property
    def labelled(self) -> Table:
        """All rows that may be learned or held out."""
        return reduce(joined, self.added, self.train)

    def split(self, validation: ValidationConfig, *, seed: int) -> Splits:
        """Split into rows to learn from and held-out rows. Raises what `make_splits` and `with_added` raise."""
        splits = make_splits(self.train, validation, seed=seed, validation=self.validation, test=self.test)
        fraction = validation.fraction if self.validation is None else None
        if self.added:
            source, train = self.train.source, splits.train  # each note names its table, as there are others
            train = replace(train, notes=tuple(f"{source}: {note}" for note in train.notes))
            splits = replace(splits, train=train, notes=tuple(f"{source}: {note}" for note in splits.notes))
        for number, new in enumerate(self.added, 1):
            replay = self.replay if number == len(self.added) else 1.0
            splits = with_added(splits, new, fraction=fraction, seed=seed, test=self.test, replay=replay)
        return splits


class SourceConfig(BaseModel):
    """The tables of a run, as the user gave them: paths of files, names of known data sets or addresses."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    train: Source
    test: Source | None = None
    """A table whose texts must not be trained on. A known data set brings its own."""
    text: str | None = None
    label: str | None = None
    multilabel: str | None = None
    """Separator of several labels in one cell. None means one label per text."""
    fold_labels: bool = False
    """Whether to join labels that differ in case and white space alone, under the most frequent spelling."""
    task: Task | None = None
    """None means classes, or several labels with `multilabel`."""
    order: tuple[str, ...] | None = None
    """Ordered classes from lowest to highest. None means that they are numbers, ordered by size."""
    levels: str | None = Field(default=None, exclude_if=not_)
    """What separates the levels of a class, such as ` > `. None means classes without levels."""
    lower: tuple[str, ...] = Field(default=(), exclude_if=not_)
    """The columns of the levels below that of the label."""
    other_texts: tuple[str, ...] = Field(default=(), exclude_if=not_)
    """The columns of the second text and all further ones."""
    columns: tuple[str, ...] = Field(default=(), exclude_if=not_)
    """The columns beside the texts."""
    added: tuple[Source, ...] = Field(default=(), exclude_if=not_)
    """Tables of rows that were learned later than those of `train`."""
    replay: float = Field(default=1.0, ge=0, le=1, exclude_if=lambda share: share == 1)
    """The share of the rows before the last of `added` that the transformer learned again."""

    encoding: str | None = Field(default=None, exclude_if=not_)
    """The encoding of all tables, except those that show that they are in another. None means that it is found."""

    query: str | None = Field(default=None, exclude=True)
    """The statement to read from the database `train`. It becomes a part of that address, and is stored there."""

    @model_validator(mode="before")
    @classmethod
    def _with_query(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("query") is None:
            return given
        return {**given, "train": with_query(given["train"], given["query"]), "query": None}

    @property
    def wanted(self) -> Wanted:
        number = self.task == "number" if self.task in (None, "number") else None
        return {
            "text": self.text, "label": self.label, "multilabel": self.multilabel, "number": number,
            "other_texts": self.other_texts, "beside": self.columns, "lower": self.lower, "levels": self.levels,
        }  # fmt: skip

    def with_inputs(self, inputs: Inputs | None, name: str) -> SourceConfig:
        """Return how a table is read for a model that reads these inputs.

        Raises:
            UsageError: the columns of other inputs were requested.
        """
        if inputs is None:
            return self
        texts, columns = inputs.texts, inputs.beside
        own = () if self.text is None else (self.text, *self.other_texts)
        if own not in ((), texts) or self.columns not in ((), columns):
            raise UsageError(
                f"`init={name!r}` reads {inputs.in_words}, by their names; leave out `text=` and `columns=`"
            )
        return self.model_copy(update={"text": texts[0], "other_texts": texts[1:], "columns": columns})

    @classmethod
    def of_training(cls, data: Mapping[str, Any]) -> SourceConfig | None:
        """Return how the training rows of a model were read, with the columns in use, or None if they came from memory.

        Args:
            data: the record of the data in the model folder.
        """
        if not data["read_as"]:
            return None
        read_as = cls.model_validate(data["read_as"])
        if read_as.train in KNOWN:  # their labels have names only if no column is requested
            return read_as
        return read_as.model_copy(update={"text": data["text_column"], "label": data["label_column"]})


def read_sources(
    config: SourceConfig, validation: ValidationConfig, data_dir: Path | None, *, inputs: Inputs | None = None
) -> Sources:
    """Read every table of a run.

    Args:
        inputs: how the inputs are read, if a model decides it. None: this is learned from the training table.

    Raises:
        UsageError: a table is missing or cannot be read, or inputs do not go together.
    """
    with reading_as(config.encoding):
        return _read(config, validation, data_dir, inputs)


def _read(config: SourceConfig, validation: ValidationConfig, data_dir: Path | None, inputs: Inputs | None) -> Sources:
    wanted, texts, columns = config.wanted, config.other_texts, config.columns
    of_split = {"group": validation.group, "time": validation.time}
    check_inputs((config.text, *texts), columns, label=config.label, **of_split)
    of_training: Wanted = {**wanted, "group": validation.group, "time": validation.time}

    def read(source: str, split: Split) -> Table:
        table = resolve(source, split, data_dir, **wanted)
        return table if train.inputs is None else composed(table, train.inputs)

    train = resolve(config.train, "train", data_dir, **of_training)
    if validation.time is not None:
        train = with_dates(train, validation.time)
    if texts or columns:
        inputs = inputs or learn_inputs(train, texts, columns)
        train = replace(composed(train, inputs), notes=(*train.notes, *described(train, inputs)))
    train = _noted(train)
    own = None if validation.file is None else read(validation.file, "train")
    if config.fold_labels:
        train = fold_labels(train)
        own = own and fold_labels(own, flat_labels(train).unique().to_list())
    test = config.test or (config.train if config.train in KNOWN else None)
    labels = flat_labels(train).unique().to_list() if config.added else []
    added = tuple(
        read_like_training(
            name, config, data_dir, labels=labels, inputs=train.inputs, split="train", group=validation.group
        )
        for name in config.added
    )
    if config.task == "ordered":
        train = replace(train, order=ordered_labels(reduce(joined, added, train), config.order))
    return Sources(
        train=train,
        validation=own,
        test=None if test is None else read(test, "test"),
        unlabelled=rows_without_label(train, *added),
        added=added,
        replay=config.replay,
    )


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How a labelled table is read for a model. By default, as the training table was read.

    Attributes:
        group: a column of groups. By default that of training, which a table may lack.
        fold_labels: read other spellings of the model's labels as these labels. If training did so, it is always done.
    """

    text: str | None = None
    label: str | None = None
    group: str | None = None
    multilabel: str | None = None
    fold_labels: bool = False


AS_TRAINED = TableOptions()


def read_like_training(
    data: str,
    read_as: SourceConfig | None,
    data_dir: Path | None,
    options: TableOptions = AS_TRAINED,
    *,
    labels: Sequence[str],
    inputs: Inputs | None = None,
    split: Split = "test",
    group: str | None = None,
) -> Table:
    """Read a table for a trained model: a file, or a split of a known data set.

    By default its columns are those of the training table, if it has them.

    Args:
        group: the column of groups in training. A file, and rows of it, may lack it. Known data sets are read without.
        labels: the labels of the model. If labels are folded, other spellings are read as these.

    Raises:
        UsageError: the table cannot be read, or lacks an input of the model.
    """
    text, label, fold = options.text, options.label, options.fold_labels
    multilabel = options.multilabel or (read_as.multilabel if read_as else None)
    lower: tuple[str, ...] = ()
    wanted: Wanted = {"multilabel": multilabel, "levels": None if read_as is None else read_as.levels}
    wanted |= {"group": options.group, "some_grouped": True}
    if inputs is not None:
        if text not in (None, inputs.texts[0]):
            raise UsageError(
                f"`text={text!r}`: this model reads {inputs.in_words}, by their names; rename the columns of the "
                "table, and leave it out"
            )
        text = inputs.texts[0]
        wanted |= {"other_texts": inputs.texts[1:], "beside": inputs.beside}
    with reading_as(encoding_like_training(data, read_as)):
        if data not in KNOWN and is_there(local_path(data)):
            sample = first_rows(local_path(data))
            if read_as:
                text, label, lower = _columns_of_training(sample, local_path(data), read_as, text, label, multilabel)
            others = [name for name in sample.columns if name not in (text, label, *lower)]
            wanted |= {"group": options.group or same_column(group, others)}
        wanted |= {"text": text, "label": label, "lower": lower}
        table = resolve(data, split, data_dir, **wanted)
    table = _noted(table if inputs is None else composed(table, inputs))
    table = replace(table, notes=(*table.notes, *_ungrouped(table, options.group or group, added=split == "train")))
    folding = fold or (read_as is not None and read_as.fold_labels)
    if fold and (apart := spellings(labels, table.levels)):
        ways = [" and ".join(quoted(way) for way, _ in spelling.ways) for spelling in apart]
        shown = listed(ways, _SPELLINGS_SHOWN, between="; ", more="; and {:,} more")
        kept = (
            f"`fold_labels=True` does not join labels that the model was trained to keep apart: {shown}. Train "
            "with `fold_labels=True` to join them"
        )
        table = replace(table, notes=(*table.notes, kept))
    return fold_labels(table, labels) if folding else table


def encoding_like_training(data: str, read_as: SourceConfig | None) -> str | None:
    """Return the encoding that is named for a table; else that of training, if this is one of its tables; else None."""
    tables = () if read_as is None else (read_as.train, read_as.test, *read_as.added)
    of_training = read_as.encoding if read_as and without_password(data) in tables else None
    return named_encoding() or of_training


def _columns_of_training(
    sample: pl.DataFrame,
    path: Path,
    read_as: SourceConfig,
    text: str | None,
    label: str | None,
    multilabel: str | None,
) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Return the columns of the text and the label: as requested, else those of the training table, else None.

    The third are the columns of lower levels. If the table has none of them, its labels are whole paths.
    """
    lower = () if label or not set(read_as.lower) & set(sample.columns) else read_as.lower
    text = text or same_column(read_as.text, sample.columns)
    label = label or same_column(read_as.label, sample.columns)
    trained_with = {read_as.text: text, read_as.label: label}
    if missing := [quoted(name) for name, found in trained_with.items() if name and not found]:
        try:
            find_columns(sample, str(path), text=text, label=label, group=None, labelled=True, multilabel=multilabel)
        except UsageError as error:
            names = f"{'column' if len(missing) == 1 else 'columns'} {' and '.join(missing)}"
            why = error.message.removeprefix(f"{path}: ")
            raise UsageError(
                f"{path} has no {names}, which the model was trained with, and {why}", error.listing
            ) from error
    return text, label, lower


def _ungrouped(table: Table, column: str | None, *, added: bool) -> list[str]:
    """Say which rows of a table have no group, if there is a column of groups. Known data sets are read without.

    Args:
        added: whether the model learns the rows, and is not measured by them.
    """
    if column is None or table.source in KNOWN:
        return []
    if "group" not in table.frame.columns:
        if added:
            return [
                f"without the column {quoted(column)}, its rows may be of held-out groups, so figures may be too good"
            ]
        return [f"without the groups of training (column {quoted(column)}), each row counts as independent"]
    lacking, rows = table.frame["group"].null_count(), counted(table.frame.height, "row")
    has = "has" if lacking == 1 else "have"
    own = "each counts as a group of its own, with rows of the same text"
    return [f"{lacking:,} of {rows} {has} no group (column {quoted(column)}); {own}"] if lacking else []


def _noted(table: Table) -> Table:
    """Add notes on texts and labels that may mean a missing value."""
    return replace(table, notes=(*table.notes, *stand_ins(table)))
