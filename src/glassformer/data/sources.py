"""Where the rows of a run come from, so that they can be read again: to resume, and to train a baseline on the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from glassformer.data.columns import same_column
from glassformer.data.known import KNOWN, resolve
from glassformer.data.rows import iterate_rows
from glassformer.data.spellings import flat_labels, fold_labels, stand_ins
from glassformer.data.splits import Splits, ValidationConfig, make_splits
from glassformer.data.table import ROWS_PER_BATCH, Table


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The tables of a run. Only `train` is needed.

    Attributes:
        validation: its own table for early stopping, instead of a share of `train`.
        test: texts that must not be trained on; nothing else is done with it.
    """

    train: Table
    validation: Table | None = None
    test: Table | None = None

    def split(self, validation: ValidationConfig, *, seed: int) -> Splits:
        """The rows to learn from and those held out (raises what `make_splits` raises)."""
        return make_splits(self.train, validation, seed=seed, validation=self.validation, test=self.test)


class SourceConfig(BaseModel):
    """The tables of a run as the user named them: files, or known data sets by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    train: str
    test: str | None = None
    """A table whose texts must not be trained on. A known data set brings its own."""
    text: str | None = None
    label: str | None = None
    multilabel: str | None = None
    """Separator of several labels in one cell; None: one label per text."""
    fold_labels: bool = False
    """Whether labels that differ by case and white space alone are one, under the most frequent spelling."""

    @classmethod
    def of_training(cls, data: Mapping[str, Any]) -> SourceConfig | None:
        """How the rows of a model were read, by what its folder says of its data, with the columns that were taken;
        None where they came from memory."""
        if not data["read_as"]:
            return None
        read_as = cls.model_validate(data["read_as"])
        if read_as.train in KNOWN:  # their labels have names only where no column is asked for
            return read_as
        return read_as.model_copy(update={"text": data["text_column"], "label": data["label_column"]})


def read_sources(config: SourceConfig, validation: ValidationConfig, data_dir: Path | None) -> Sources:
    """Read every table of a run.

    Raises:
        UsageError: a table is missing or cannot be read.
    """

    def read(source: str, split: Literal["train", "test"], group: str | None = None) -> Table:
        return resolve(
            source, split, data_dir, text=config.text, label=config.label, group=group, multilabel=config.multilabel
        )

    train = _noted(read(config.train, "train", validation.group))
    own = None if validation.file is None else read(validation.file, "train")
    if config.fold_labels:
        train = fold_labels(train)
        own = own and fold_labels(own, flat_labels(train).unique().to_list())
    test = config.test or (config.train if config.train in KNOWN else None)
    return Sources(
        train=train,
        validation=own,
        test=None if test is None else read(test, "test"),
    )


def read_like_training(
    data: str,
    read_as: SourceConfig | None,
    data_dir: Path | None,
    *,
    text: str | None,
    label: str | None,
    multilabel: str | None,
    labels: Sequence[str],
    fold: bool = False,
) -> Table:
    """A table to measure on: a file, or a known set's test split.

    Its columns are those of the training table, where it has them, unless others are given.

    Args:
        labels: those of the model; other spellings are read as these where `fold` says so, or training folded them.

    Raises:
        UsageError: the table cannot be read.
    """
    header = next(iterate_rows(Path(data), rows_per_batch=ROWS_PER_BATCH)).columns if _is_file(data) else []
    text = text or (same_column(read_as.text, header) if read_as else None)
    label = label or (same_column(read_as.label, header) if read_as else None)
    multilabel = multilabel or (read_as.multilabel if read_as else None)
    table = _noted(resolve(data, "test", data_dir, text=text, label=label, multilabel=multilabel))
    folding = fold or (read_as is not None and read_as.fold_labels)
    return fold_labels(table, labels) if folding else table


def _noted(table: Table) -> Table:
    """With notes on texts and labels that may stand for none."""
    return replace(table, notes=(*table.notes, *stand_ins(table)))


def _is_file(data: str) -> bool:
    try:
        return data not in KNOWN and Path(data).is_file()
    except OSError:  # a name that no file can have is refused where it is read
        return False
