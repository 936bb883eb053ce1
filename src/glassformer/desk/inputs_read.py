"""What is read of a row of the table: one text; or several texts, and columns beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import polars as pl

from glassformer.data.inputs import BLANK, Inputs
from glassformer.data.wording import in_option


def unused(name: str, names: Sequence[str]) -> str:
    """Return a name for a column beside others."""
    while name in names:
        name += "_"
    return name


@dataclass(frozen=True, kw_only=True)
class InputsRead:
    """The columns that are read.

    A row is kept as its first text, and the other values by their columns as JSON (`beside`; null if there are none).
    """

    text: str
    other_texts: Sequence[str] = ()
    columns: Sequence[str] = ()

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        return cls(text=facts["text"], other_texts=facts.get("other_texts", ()), columns=facts.get("columns", ()))

    @property
    def beside(self) -> Sequence[str]:
        """The columns besides the first text."""
        return (*self.other_texts, *self.columns)

    def kept(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a table as they are kept: the columns text, beside and blank, which rows have no text."""
        values = batch.select(pl.col(name).cast(pl.String) for name in self.beside).iter_rows(named=True)
        beside = [json.dumps(row, ensure_ascii=False) for row in values] if self.beside else [None] * batch.height
        filled = [batch[name].cast(pl.String).fill_null("") for name in (self.text, *self.other_texts)]
        blank = pl.DataFrame(filled).select(pl.all_horizontal(pl.all().str.contains(BLANK))).to_series()
        return pl.DataFrame({"text": filled[0], "beside": pl.Series(beside, dtype=pl.String), "blank": blank})

    def asked(self, kept: pl.DataFrame, inputs: Inputs | None) -> list[str]:
        """Return kept rows as a model reads them. `inputs` are those of the model."""
        texts = kept["text"].to_list()
        if inputs is None:
            return texts
        rows = zip(texts, kept["beside"], strict=True)
        return [inputs.compose({self.text: text, **json.loads(beside or "{}")}) for text, beside in rows]

    def words(self, kept: pl.DataFrame) -> list[str]:
        """Return all that kept rows say, each as one text."""
        return [
            text if beside is None else "\n".join(filter(None, [text, *json.loads(beside).values()]))
            for text, beside in zip(kept["text"], kept["beside"], strict=True)
        ]

    def as_table(self, labelled: pl.DataFrame) -> pl.DataFrame:
        """Return labelled rows (text, beside, label and others) as the table that a model learns from."""
        beside = [json.loads(row) for row in labelled["beside"]] if self.beside else []
        values = pl.DataFrame(beside, dict.fromkeys(self.beside, pl.String))
        rest = labelled.drop("text", "beside").rename({"label": self.label})
        rest = rest.drop(name for name in rest.columns if name in self.names)
        return pl.concat([labelled.select(pl.col("text").alias(self.text)), values, rest], how="horizontal")

    @property
    def names(self) -> Sequence[str]:
        return (self.text, *self.beside)

    @property
    def label(self) -> str:
        """The column of the labels in `as_table`."""
        return unused("label", self.names)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings by which `as_table` is read."""
        if self.names == ("text",):
            return {}
        columns = {"columns": ",".join(map(in_option, self.columns))} if self.columns else {}
        return {"text": [self.text, *self.other_texts], **columns, "label": self.label}
