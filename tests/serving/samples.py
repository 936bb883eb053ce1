"""Small models with random weights, served."""

from pathlib import Path

from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.serving.served_model import ServedModel
from tests.explanation.test_explain import two_readers

TEXT = "The plot is thin, but i loved it"


def served(
    name: str = "reviews", trained: TrainedModel | None = None, folder: Path = Path("nowhere")
) -> dict[str, ServedModel]:
    """A model by its name, as the application takes it."""
    predictor = Predictor(trained or two_readers())
    return {name: ServedModel(name=name, folder=folder, predictor=predictor)}
