"""Write the model card, which says what a model is and is not, from the records of its run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glassformer.data.inputs import example_of
from glassformer.models.build import parameter_count
from glassformer.pages.html import written
from glassformer.prediction.kept_texts import TEXTS_FILE
from glassformer.prediction.label_doubts import Doubts
from glassformer.prediction.model_folder import TrainedModel


@dataclass(frozen=True, kw_only=True)
class Said:
    """What is said of a trained model by its kind of answer (`PART` of `targets/*/training_card.py`).

    Attributes:
        kind, answers: the title of the card, and how a text is answered.
        readers: how the readers share the answer.
        limits: the last words of the card.
        doubts: the key of `metrics.json` with doubtful rows, their record, and why a row is doubtful.
    """

    kind: str
    answers: Callable[[TrainedModel], str]
    column: str
    learned: Callable[[TrainedModel], str]
    readers: Callable[[TrainedModel], list[str]]
    measured: Callable[[TrainedModel], list[str]]
    limits: str
    figures: Callable[[TrainedModel], dict[str, Any]]
    in_short: Callable[[TrainedModel], str]
    doubts: tuple[str, type[Doubts[Any]], str]


def said_of(trained: TrainedModel) -> Said:
    """Return what the kind of answer says of a model."""
    return trained.config.target.part("training_card")


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
        example=example_of(config.inputs),
    )
