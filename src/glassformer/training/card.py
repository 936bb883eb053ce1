"""Write the model card, which says what a model is and is not, from the records of its run."""

from typing import Any, Protocol

from glassformer.data.inputs import example_of
from glassformer.models.build import parameter_count
from glassformer.models.model_config import ModelConfig
from glassformer.pages.html import written
from glassformer.prediction.folder_names import TEXTS_FILE
from glassformer.prediction.model_folder import TrainedModel
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.body.vectors import SOURCES_FILE, body_folder


class Said(Protocol):
    """What a kind of answer says of a model: `targets/labels/training_card.py`, or that of a number."""

    KIND: str
    COLUMN: str
    LIMITS: str
    DOUBTED: str

    def answers(self, trained: TrainedModel) -> str: ...
    def learned(self, trained: TrainedModel) -> str: ...
    def readers(self, trained: TrainedModel) -> list[str]: ...
    def measured(self, trained: TrainedModel) -> list[str]: ...
    def figures(self, trained: TrainedModel) -> dict[str, Any]: ...
    def in_short(self, trained: TrainedModel) -> str: ...


def said_of(trained: TrainedModel) -> Said:
    """Return what the kind of answer of a model says of it."""
    said: Said = trained.config.target.part("training_card")
    return said


def model_card(trained: TrainedModel) -> str:
    """Return the Markdown of the model folder's README.md."""
    config = trained.config
    return written(
        "training/model_card",
        trained=trained,
        config=config,
        said=said_of(trained),
        parameters=parameter_count(config.model, config.vocab_size, config.n_classes),
        texts_file=TEXTS_FILE,
        sources_file=SOURCES_FILE if _has_sources(trained) else None,
        example=example_of(config.inputs),
    )


def _has_sources(trained: TrainedModel) -> bool:
    """Whether the body that a model read with names the authors of its texts."""
    reader, model = trained.readers.get("body"), trained.config.model
    if not isinstance(reader, BodyReader) or reader.origin == "own" or not isinstance(model, ModelConfig):
        return False
    return (body_folder(model.body) / SOURCES_FILE).is_file()
