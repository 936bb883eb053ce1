"""A model folder as a model of MLflow, which reads it with the code that is installed: `mlflow.pyfunc.load_model`."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer import __version__
from glassformer.data.inputs import Number
from glassformer.prediction.frames import FrameScorer


@dataclass(frozen=True)
class _Model:
    """What MLflow asks."""

    scorer: FrameScorer

    def predict(self, rows: Any) -> Any:
        """Return a frame with the columns of the answers to a frame."""
        (answered,) = self.scorer([rows])
        return answered[list(self.scorer.added)]


def _load_pyfunc(folder: str) -> _Model:
    """Read a model. MLflow looks for a function of this name."""
    return _Model(FrameScorer(Path(folder), device="auto"))


def log_model(folder: Path) -> None:
    """Add a model folder to the run of MLflow that is open, with the columns that it reads and answers with."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # it misses an example, which would be a text
        import mlflow.pyfunc
        from mlflow.models import ModelSignature
        from mlflow.types import ColSpec, Schema

        scorer = FrameScorer(folder)
        inputs = scorer.predictor.trained.config.inputs
        texts: Sequence[str] = (scorer.text_column,) if inputs is None else inputs.texts
        read = [ColSpec("string", name) for name in texts]
        read += [
            ColSpec("double" if isinstance(column, Number) else "string", column.name, required=False)
            for column in (() if inputs is None else inputs.columns)
        ]
        answered = [ColSpec(kind, name) for name, kind in scorer.added.items()]
        mlflow.pyfunc.log_model(
            name="model",
            loader_module=__name__,
            data_path=str(folder),
            pip_requirements=[f"glassformer=={__version__}"],
            signature=ModelSignature(inputs=Schema([*read]), outputs=Schema([*answered])),
        )
