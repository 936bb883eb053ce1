"""A model that is served and answers with a number and an interval."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from glassformer.errors import UsageError
from glassformer.evaluation.number_result import NumberEvaluation
from glassformer.explanation.number import explain_number
from glassformer.prediction.exported_number import ExportedNumberPredictor
from glassformer.prediction.load_answering import load_number
from glassformer.prediction.number_answering import NumberAnswering
from glassformer.serving.served_model import ServedModel, Version, figures_in


@dataclass(frozen=True, kw_only=True)
class ServedNumber(ServedModel):
    """A model of a number with the name that requests use. What looks into labels is refused."""

    predictor: NumberAnswering  # type: ignore[assignment] # it answers as `Answering` does, with a number

    @classmethod
    def read_folder(cls, name: str, folder: Path, version: Version, *, device: str) -> ServedNumber:
        """Read a model folder (raises what `load_number` raises)."""
        predictor = load_number(folder, device=device)
        return cls(name=name, folder=folder, predictor=predictor, version=version, device=device)

    @property
    def is_number(self) -> bool:
        return True

    @property
    def exported(self) -> bool:
        return isinstance(self.predictor, ExportedNumberPredictor)

    @property
    def depends_on_batch(self) -> bool:
        return False

    @property
    def has_heads(self) -> bool:
        return False

    @property
    def whole(self) -> NoReturn:
        """Raise `UsageError`: what asks for it looks into labels."""
        raise UsageError(f"the model {self.name} answers with a number; this is for models that answer with labels")

    def explanation(self, text: str, *, label: Any, method: str | None, nearest: bool) -> dict[str, Any]:
        """Return the JSON of an explanation.

        Raises:
            UsageError: what `explain_number` raises, or an argument is for models that answer with labels.
        """
        given = {"label": label is not None, "method": method is not None, "nearest": nearest}
        if asked := [key for key, value in given.items() if value]:
            raise UsageError(f"`{asked[0]}` is for models that answer with labels; {self.name} answers with a number")
        return explain_number(self.predictor, text).as_json()

    def _measured(self) -> dict[str, Any] | None:
        if (found := figures_in(self.folder, NumberEvaluation)) is None:
            return None
        metrics = found.metrics
        figures = {
            name: {"value": each.value, "low": each.low, "high": each.high}
            for name, each in (("r2", metrics.r2), ("mean_absolute_error", metrics.mae))
        }
        return {"data": found.data.source, "rows": metrics.rows, **figures, "verdict": found.duel.verdict}

    def _what_it_answers(self) -> dict[str, Any]:
        config = self.predictor.trained.config
        if isinstance(self.predictor, ExportedNumberPredictor):
            exported = self.predictor.trained.config
            parameters, created = exported.parameters, exported.made_of["created"]
        else:
            from glassformer.prediction.number import NumberPredictor  # it needs PyTorch

            assert isinstance(self.predictor, NumberPredictor)
            trained = self.predictor.trained
            parameters, created = sum(weight.numel() for weight in trained.model.parameters()), trained.config.created
        return {
            "target": config.target,
            "lowest": config.scale.lowest,
            "highest": config.scale.highest,
            "base": self.predictor.base,
            "has_counting_reader": config.readers.counting is not None,
            "keeps_texts": False,
            "parameters": parameters,
            "created": created,
        }
