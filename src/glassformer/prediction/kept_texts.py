"""The training texts in a model folder, kept on request: for each row its number, text, labels and vector."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field, ValidationError
from safetensors.numpy import save_file

from glassformer.data.arrays import check_is_file, read_array
from glassformer.data.checksums import check_sums
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.folder_names import KEPT_FILES, TEXTS_FILE, VECTORS_FILE

HalfArray = np.ndarray[Any, np.dtype[np.float16]]

_Label = str | int | float | bool


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptTexts:
    """The training rows of a model.

    Attributes:
        rows: the number of each row in the training table. The first is 1.
        labels: the label of each row as the table holds it; with several labels per text, a list.
        vectors: (rows, width) what `unit_vectors` returns for the texts.
    """

    rows: tuple[int, ...]
    texts: tuple[str, ...]
    labels: tuple[Any, ...]
    vectors: HalfArray | None

    def save(self, folder: Path, config: FolderConfig) -> None:
        """Write `training-texts.jsonl` and, if there are vectors, `training-texts.safetensors`.

        Raises:
            OSError, SafetensorError: a file cannot be written.
        """
        with (folder / TEXTS_FILE).open("w", encoding="utf-8", newline="\n") as file:
            for row, text, label in zip(self.rows, self.texts, self.labels, strict=True):
                line = {"row": row, "label": config.target.named(label), "text": text}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        if self.vectors is not None:
            save_file({"vectors": self.vectors}, folder / VECTORS_FILE)

    @classmethod
    def load(cls, folder: Path, config: FolderConfig) -> KeptTexts:
        """Read the files that `save` wrote.

        Raises:
            GlassformerError: a file is missing or damaged, or the files do not match each other or the model.
        """
        lines = list(_lines(folder / TEXTS_FILE))
        try:
            for line in lines:
                config.target.check_right(line.label)
        except UsageError as error:
            raise _of_another_model(folder / TEXTS_FILE) from error
        if len(lines) != config.remembered.data.rows:
            raise _of_another_model(folder / TEXTS_FILE)
        kept = cls(
            rows=tuple(line.row for line in lines),
            texts=tuple(line.text for line in lines),
            labels=tuple(line.label for line in lines),
            vectors=None if config.transformer_is_silent else _vectors(folder / VECTORS_FILE, len(lines)),
        )
        check_sums(folder, only=KEPT_FILES)
        return kept


class _Line(BaseModel, frozen=True, extra="forbid", strict=True, allow_inf_nan=False):
    """A line of `training-texts.jsonl`."""

    row: int = Field(ge=1)
    label: _Label | list[_Label]
    text: str


def _lines(path: Path) -> Iterable[_Line]:
    check_is_file(path)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield _Line.model_validate_json(line)
            except ValidationError as error:
                raise GlassformerError(
                    f"{path}, line {number:,}, does not hold a row, a label and a text; copy the folder again"
                ) from error


def _vectors(path: Path, rows: int) -> HalfArray:
    vectors = read_array(path, "vectors")
    if vectors.dtype != np.float16 or vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise GlassformerError(f"{path} holds no vectors in float16; the file is damaged")
    if len(vectors) != rows:
        raise _of_another_model(path)
    return vectors


def _of_another_model(path: Path) -> GlassformerError:
    return GlassformerError(f"{path} does not match config.json; the files come from different models")
