"""Where the rows of a run come from, so that they can be read again: to resume, and to train a baseline on the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from glassformer.data.known import KNOWN, resolve
from glassformer.data.rows import iterate_rows
from glassformer.data.splits import Splits, ValidationConfig, make_splits
from glassformer.data.table import Table


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


def read_sources(config: SourceConfig, validation: ValidationConfig, data_dir: Path | None) -> Sources:
    """Read every table of a run.

    Raises:
        UsageError: a table is missing or cannot be read.
    """

    def read(source: str, split: Literal["train", "test"], group: str | None = None) -> Table:
        return resolve(
            source, split, data_dir, text=config.text, label=config.label, group=group, multilabel=config.multilabel
        )

    test = config.test or (config.train if config.train in KNOWN else None)
    return Sources(
        train=read(config.train, "train", validation.group),
        validation=None if validation.file is None else read(validation.file, "train"),
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
) -> Table:
    """A table to measure on: a file, or a known set's test split.

    Its columns are those named in training, where it has them, unless others are given.

    Raises:
        UsageError: the table cannot be read.
    """
    path = Path(data)
    header = next(iterate_rows(path, rows_per_batch=1)).columns if data not in KNOWN and path.is_file() else []

    def remembered(column: str | None) -> str | None:
        return column if column in header else None

    return resolve(
        data,
        "test",
        data_dir,
        text=text or (remembered(read_as.text) if read_as else None),
        label=label or (remembered(read_as.label) if read_as else None),
        multilabel=multilabel or (read_as.multilabel if read_as else None),
    )
