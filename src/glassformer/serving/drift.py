"""Drift: the recent answers beside those to the held-out rows of training. Only figures are kept, no texts."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from fastapi import FastAPI
from prometheus_client.core import GaugeMetricFamily
from pydantic import BaseModel, Field

from glassformer.prediction.held_out_answers import HeldOutAnswers, Mean
from glassformer.serving.served_model import ServedModel

RECENT, FEWEST = 1_000, 100  # texts
_SURE = 3.29  # standard deviations: chance alone goes as far in 1 of 1,000 cases


class _Seen(NamedTuple):
    labels: tuple[str, ...]
    confidence: float
    unseen_share: float | None
    unlike_training: bool | None


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A figure of the recent answers beside that of the held-out rows.

    Attributes:
        held_out: None if the model does not know it.
        moved: whether they differ by more than chance explains. None if that is not known.
    """

    name: str
    recent: float
    held_out: float | None
    moved: bool | None


@dataclass(kw_only=True)
class _Recent:
    model: ServedModel
    answers: deque[_Seen] = field(default_factory=lambda: deque(maxlen=RECENT))


class Drift:
    """The last answers of each model. A model that is read again begins anew."""

    def __init__(self, models: Mapping[str, ServedModel]) -> None:
        self._models = models
        self._recent: dict[str, _Recent] = {}

    def _of(self, model: ServedModel) -> _Recent:
        found = self._recent.get(model.name)
        if found is None or found.model is not model:
            found = self._recent[model.name] = _Recent(model=model)
        return found

    def add(self, model: ServedModel, answers: Iterable[Mapping[str, Any]]) -> None:
        """Count answers (`Answers.records`). Those to empty texts are left out, and numbers."""
        for answer in answers:
            if answer.get("confidence") is not None:
                given = answer["prediction"]
                labels = tuple(map(str, given)) if isinstance(given, list) else (str(given),)
                seen = _Seen(labels, answer["confidence"], answer["unseen_share"], answer["unlike_training"])
                self._of(model).answers.append(seen)

    def compare(self, model: ServedModel) -> tuple[int, HeldOutAnswers | None, list[Compared]]:
        """Return the number of recent answers, those to the held-out rows, and both figure by figure."""
        recent, usual = list(self._of(model).answers), model.predictor.held_out_answers
        if not recent:
            return 0, usual, []
        texts, rows = len(recent), 0 if usual is None else usual.rows
        counts = Counter(label for each in recent for label in each.labels)
        figures = [
            _share(f"answer {label}", counts[label] / texts, texts, usual.labels.get(label) if usual else None, rows)
            for label in map(str, model.predictor.trained.config.labels)
        ]
        sure = [each.confidence for each in recent]
        figures.append(_mean("confidence", sure, usual.confidence if usual else None, rows))
        unseen = [each.unseen_share for each in recent if each.unseen_share is not None]
        if unseen:
            figures.append(_mean("unseen words and pairs", unseen, usual.unseen_share if usual else None, rows))
            unlike = sum(bool(each.unlike_training) for each in recent) / texts
            usually = usual.unlike_training if usual else None
            figures.append(_share("unlike the training data", unlike, texts, usually, rows))
        return texts, usual, figures

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the figures for Prometheus."""
        texts = GaugeMetricFamily("glassformer_drift_texts", "Recent answers that are compared.", labels=["model"])
        both = GaugeMetricFamily(
            "glassformer_drift",
            "A figure of the recent answers, or of those to the held-out rows of training.",
            labels=["model", "figure", "of"],
        )
        for name, model in list(self._models.items()):
            if model.is_number:
                continue
            count, _, figures = self.compare(model)
            texts.add_metric([name], count)
            for figure in figures:
                both.add_metric([name, figure.name, "recent texts"], figure.recent)
                if figure.held_out is not None:
                    both.add_metric([name, figure.name, "held-out rows"], figure.held_out)
        yield from (texts, both)


def _share(name: str, recent: float, texts: int, usual: float | None, rows: int) -> Compared:
    """Compare two shares by the standard error of their difference, if both are the same share."""
    if usual is None:
        return Compared(name=name, recent=round(recent, 6), held_out=None, moved=None)
    both = (recent * texts + usual * rows) / (texts + rows)
    error = math.sqrt(both * (1 - both) * (1 / texts + 1 / rows))
    return _compared(name, recent, texts, usual, error)


def _mean(name: str, values: list[float], usual: Mean | None, rows: int) -> Compared:
    recent, texts = sum(values) / len(values), len(values)
    if usual is None:
        return Compared(name=name, recent=round(recent, 6), held_out=None, moved=None)
    variance = sum((value - recent) ** 2 for value in values) / texts
    return _compared(name, recent, texts, usual.mean, math.sqrt(variance / texts + usual.sd**2 / rows))


def _compared(name: str, recent: float, texts: int, usual: float, error: float) -> Compared:
    # What is kept of the held-out rows has six decimals.
    moved = abs(recent - usual) > max(_SURE * error, 1e-6) if texts >= FEWEST else None
    return Compared(name=name, recent=round(recent, 6), held_out=usual, moved=moved)


class DriftOfModel(BaseModel):
    """The recent answers of a model beside those to the held-out rows."""

    model: str
    texts: int = Field(description=f"The recent texts that are compared, at most {RECENT:,}.")
    held_out_rows: int | None = Field(description="Null if the model does not know: an older version made it.")
    figures: list[dict[str, str | float | bool | None]] = Field(
        examples=[[{"name": "confidence", "recent": 0.71, "held_out": 0.88, "moved": True}]]
    )
    sentence: str


def add_drift(app: FastAPI, drift: Drift, models: Mapping[str, ServedModel]) -> None:
    """Add the route."""

    @app.get("/drift", response_model=list[DriftOfModel])
    async def shown() -> list[dict[str, Any]]:
        """Compare the recent answers of each model with its answers to held-out rows."""
        found = []
        for name, model in list(models.items()):
            if model.is_number:
                sentence = "This model answers with a number. Drift is measured for models that answer with labels."
                found.append({"model": name, "texts": 0, "held_out_rows": None, "figures": [], "sentence": sentence})
                continue
            texts, usual, figures = drift.compare(model)
            found.append(
                {
                    "model": name,
                    "texts": texts,
                    "held_out_rows": None if usual is None else usual.rows,
                    "figures": [asdict(figure) for figure in figures],
                    "sentence": _sentence(texts, usual, figures),
                }
            )
        return found


def _sentence(texts: int, usual: HeldOutAnswers | None, figures: list[Compared]) -> str:
    if usual is None:
        return "This model does not know its answers to held-out rows; train it again to compare them."
    if texts < FEWEST:
        return f"So far {texts:,} texts were answered. They are compared from {FEWEST:,} on."
    moved = [figure.name for figure in figures if figure.moved]
    if not moved:
        return f"The last {texts:,} texts are answered like the held-out rows of training."
    return (
        f"The last {texts:,} texts differ from the held-out rows of training by more than chance explains: "
        f"{', '.join(moved[:5])}{' …' if len(moved) > 5 else ''}."
    )
