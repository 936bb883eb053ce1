"""Drift: the recent answers beside those to the held-out rows of training. Only figures are kept, no texts."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from fastapi import FastAPI
from prometheus_client.core import GaugeMetricFamily
from pydantic import BaseModel, Field

from glassformer.evaluation.drift import FEWEST, UNSEEN, Compared, compared
from glassformer.serving.served_model import ServedModel
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.number.held_out import HeldOutNumbers, share_of
from glassformer.targets.target import Followed

RECENT = 1_000  # texts
Usual = HeldOutAnswers | HeldOutNumbers


@dataclass(kw_only=True)
class _Recent:
    model: ServedModel
    answers: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=RECENT))


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
        """Count answers (`Answers.records`). Those to empty texts are left out."""
        figures = ("prediction", "confidence", "unseen_share", "unlike_training")
        for answer in answers:
            if answer["prediction"] is not None:
                self._of(model).answers.append({name: answer.get(name) for name in figures})

    def compare(self, model: ServedModel) -> tuple[int, Usual | None, list[Compared]]:
        """Return the number of recent answers, those to the held-out rows, and both figure by figure."""
        recent, usual = list(self._of(model).answers), model.predictor.held_out
        if not recent:
            return 0, usual, []
        followed = model.target.followed(recent, usual)
        unseen = [each["unseen_share"] for each in recent if each["unseen_share"] is not None]
        if unseen:
            followed.append(Followed(UNSEEN, unseen, usual.unseen_share if usual else None))
            unlike = [bool(each["unlike_training"]) for each in recent]
            usually = None if usual is None or usual.unlike_training is None else share_of(usual.unlike_training)
            followed.append(Followed("unlike the training data", unlike, usually))
        return len(recent), usual, [compared(each, 0 if usual is None else usual.rows) for each in followed]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the figures for Prometheus."""
        texts = GaugeMetricFamily("glassformer_drift_texts", "Recent answers that are compared.", labels=["model"])
        both = GaugeMetricFamily(
            "glassformer_drift",
            "A figure of the recent answers, or of those to the held-out rows of training.",
            labels=["model", "figure", "of"],
        )
        for name, model in list(self._models.items()):
            count, _, figures = self.compare(model)
            texts.add_metric([name], count)
            for figure in figures:
                both.add_metric([name, figure.name, "recent texts"], figure.recent)
                if figure.held_out is not None:
                    both.add_metric([name, figure.name, "held-out rows"], figure.held_out)
        yield from (texts, both)


class DriftOfModel(BaseModel):
    """The recent answers of a model beside those to the held-out rows."""

    model: str
    texts: int = Field(description=f"The recent texts that are compared, at most {RECENT:,}.")
    held_out_rows: int | None = Field(description="Null if the model does not know.")
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


def _sentence(texts: int, usual: Usual | None, figures: list[Compared]) -> str:
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
