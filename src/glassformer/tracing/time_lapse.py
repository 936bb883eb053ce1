"""A time-lapse: the snapshots of a training together, as files and as a page."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file
from sklearn.decomposition import PCA

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.files import why_not_written, write_aside, written_aside
from glassformer.errors import GlassformerError
from glassformer.pages.html import rendered
from glassformer.prediction.folder_names import SNAPSHOTS_FOLDER, TIME_LAPSE_FILE
from glassformer.tracing.snapshot import Snapshot, Subject

_JSON_FILE, _NUMBERS_FILE = "snapshots.json", "snapshots.safetensors"
_FEWEST_WORDS = 3
"""The fewest words whose embeddings are drawn."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeLapse:
    """All snapshots of a training, the first before any step.

    Attributes:
        points: (snapshots, words, 2) the embeddings, all projected on the first two principal components of the last
            snapshot. Without words if the design learns no embeddings.
        variance: the share of the variance of the last embeddings that these two components show.
    """

    subject: Subject
    snapshots: tuple[Snapshot, ...]
    points: FloatArray
    variance: float
    kept_step: int

    def write(self, path: Path) -> None:
        """Write the page. It is self-contained, and replaces an earlier one only when it is complete."""
        write_aside(path, render(self))

    def save(self, model_folder: Path) -> None:
        """Write the page, the numbers and what they mean into a folder of the model folder.

        Raises:
            GlassformerError: the files cannot be written.
        """
        folder, numbers = model_folder / SNAPSHOTS_FOLDER, _tensors(self)
        try:
            folder.mkdir(exist_ok=True)
            with written_aside(folder / _NUMBERS_FILE) as aside:
                save_file(numbers, aside)
            write_aside(folder / _JSON_FILE, json.dumps(_described(self), indent=2, ensure_ascii=False))
            self.write(folder / TIME_LAPSE_FILE)
        except (SafetensorError, OSError) as error:
            needed = sum(values.nbytes for values in numbers.values())
            raise GlassformerError(
                f"the snapshots could not be written: {why_not_written(folder, error, needed)}"
            ) from error


def time_lapse(subject: Subject, snapshots: Sequence[Snapshot], *, kept_step: int) -> TimeLapse:
    """Project the embeddings of all snapshots by the principal components of the last."""
    last = snapshots[-1].embeddings
    points, variance = np.zeros((len(snapshots), 0, 2), np.float32), 0.0
    if len(last) >= _FEWEST_WORDS and last.shape[1] > 1 and last.var(axis=0).any():
        projection = PCA(n_components=2, svd_solver="full").fit(last)
        points = np.stack([projection.transform(each.embeddings) for each in snapshots]).astype(np.float32)
        variance = float(projection.explained_variance_ratio_.sum())
    return TimeLapse(subject=subject, snapshots=tuple(snapshots), points=points, variance=variance, kept_step=kept_step)


def _tensors(found: TimeLapse) -> dict[str, Array]:
    """Return the numbers by name, the snapshots along the first axis."""
    tensors: dict[str, Array] = {"points": found.points, _named(found): _answers(found)}
    for text in range(len(found.snapshots[0].attention)):
        maps = [each.attention[text] for each in found.snapshots]
        tensors[f"attention.{text}"] = np.stack(maps).astype(np.float16)
    return tensors


def _named(found: TimeLapse) -> str:
    return "probabilities" if found.subject.scored.column is None else "numbers"


def _answers(found: TimeLapse) -> FloatArray:
    """Return the answers of the transformer alone, (snapshots, texts, n_classes)."""
    return np.stack([found.subject.scored.answers(each.logits) for each in found.snapshots]).astype(np.float32)


def _described(found: TimeLapse) -> dict[str, Any]:
    """Return everything but the numbers of `_tensors`, as JSON values."""
    subject = found.subject
    return {
        "source": subject.source,
        "held_out": subject.held_out,
        "texts": [
            {"row": text.row, "labels": text.labels, "tokens": text.tokens, "cut": text.cut} for text in subject.texts
        ],
        "words": list(subject.words) if found.points.size else [],
        "variance": found.variance,
        "labels": subject.labels,
        "multilabel": subject.multilabel,
        "target": subject.scored.column,
        "unit": subject.scored.unit,
        "kept_step": found.kept_step,
        "steps": [each.step for each in found.snapshots],
        "losses": {
            name: [each.losses[name] if np.isfinite(each.losses[name]) else None for each in found.snapshots]
            for name in subject.samples
        },
    }


def render(found: TimeLapse) -> str:
    """Return the page as HTML. Everything from the texts and the labels is escaped."""
    shown = _described(found) | {
        "points": found.points.round(5).tolist(),
        _named(found): _answers(found).round(4).tolist(),
        "attention": [
            {
                "shape": found.snapshots[0].attention[text].shape,
                "maps": [_bytes(each.attention[text]) for each in found.snapshots],
            }
            for text in range(len(found.snapshots[0].attention))
        ],
    }
    return rendered("tracing/time_lapse", found=found, document=shown)


def _bytes(maps: FloatArray) -> str:
    """Return attention weights as bytes, 255 for 1, in base64."""
    return base64.b64encode(np.rint(maps * 255).astype(np.uint8).tobytes()).decode()
