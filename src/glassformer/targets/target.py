"""A target: what the answers of a model are, and how they follow from the scores of its readers. Without PyTorch."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from glassformer.data.arrays import BoolArray, DoubleArray
from glassformer.errors import UsageError
from glassformer.targets.answers import UNLIKE, Answers, Scores
from glassformer.targets.number.held_out import Mean
from glassformer.targets.parts import part_of
from glassformer.targets.review import Thresholds


class Followed(NamedTuple):
    """A figure of recent answers.

    Attributes:
        values: that of each text. Of a share they are true or false.
        usual: its mean over the held-out rows. None if the model does not know it.
    """

    name: str
    values: Sequence[float]
    usual: Mean | None


class Target(BaseModel, ABC):
    """A kind of answer (`target` in `config.json`).

    Each reader gives a text `width` scores. They are added up with the weights of the readers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    precision: ClassVar[type[np.floating[Any]]] = np.float32
    """The type in which the scores of the readers are added up."""
    multilabel: ClassVar[bool] = False
    """Whether each score is a decision of its own."""
    ordered: ClassVar[bool] = False
    """Whether each label is more than the one before it."""

    counted: ClassVar[bool] = True
    """Whether it counts how often each answer is given. Two numbers are seldom the same."""

    kind: str
    """The name that `task` gives it."""

    def part(self, room: str) -> Any:
        """Return what this kind of answer adds to a room: see `parts.py`."""
        return part_of(self.kind, room)

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of scores of a text."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """The name of each score."""

    @property
    def asks(self) -> bool:
        """Whether it says itself which answers a person should see."""
        return False

    @property
    def names(self) -> tuple[str, ...] | None:
        """The name of each score, if they are labels."""
        return None

    @property
    def as_labels(self) -> dict[str, Any]:
        """The scores as labels: the fields of a `LabelSet`."""
        return {"names": self.outputs, "multilabel": self.multilabel, "ordered": self.ordered}

    @abstractmethod
    def held_out(self, metrics: Mapping[str, Any]) -> Any:
        """Return the figures of the answers to held-out rows in the contents of `metrics.json`, or None."""

    def decides(self, scores: Scores) -> BoolArray:
        """Return the texts (texts,) about which a reader with these scores decides, so that no other is asked.

        The scores of labels decide by their size.
        """
        return np.zeros(len(scores), np.bool_)

    def decided(self, scores: Mapping[str, Scores]) -> dict[str, Scores]:
        """Return the weighted scores (texts, width) of each reader, with 0 where another reader decides."""
        return dict(scores)

    @abstractmethod
    def values(self, scores: Mapping[str, Scores]) -> DoubleArray:
        """Return the answers that follow from the weighted scores (texts, width) of each reader, as numbers.

        Returns:
            The probabilities of the labels (texts, width), or the number of each text (texts,).

        Raises:
            GlassformerError: a score is NaN or infinite.
        """

    @abstractmethod
    def taught(self, scores: Scores) -> Scores:
        """Return what a student learns, from the summed scores (texts, width) of all readers."""

    @abstractmethod
    def answers(self, scores: Mapping[str, Scores], held_out: Any, **about: Any) -> Answers:
        """Return the same with all that belongs to them.

        Args:
            about: the texts and what is known of them (see `Answers`), and what was asked: `review_below`, the lowest
                confidence of an automatic answer, or of a number the lowest known share of a text; `coverage` for a
                number.
        """

    @abstractmethod
    def weighed(self, added: Scores) -> Scores:
        """Return the weighted scores (texts, width) of a reader from what it adds to answers (`Answers.readers`)."""

    def thresholds(self, held_out: Any) -> Thresholds:  # noqa: ARG002
        """Return the thresholds that held-out rows give.

        Raises:
            UsageError: the model does not know them, or its answers have no confidence.
        """
        raise UsageError(
            "`automatic=` is for models that answer with labels: the intervals of a number are equally wide, so no "
            "answer is surer than another"
        )

    @property
    def columns(self) -> dict[str, type]:
        """The columns that answers add to a table, each with the type of its values: str, float or bool."""
        return self._columns | UNLIKE | ({"needs_review": bool} if self.asks else {})

    @property
    @abstractmethod
    def _columns(self) -> dict[str, type]:
        """Those of the prediction and what belongs to it."""

    def notes(self, held_out: Any) -> list[str]:  # noqa: ARG002
        """Return sentences about its answers."""
        return []

    def check_labels(self, asked: str) -> None:
        """Raise `UsageError` if what was asked is for models that answer with labels, and this one does not."""
        raise UsageError(f"{asked} is for models that answer with labels; this one answers with a number")

    @abstractmethod
    def named(self, label: Any) -> Any:
        """Return a label of a training table as answers name it."""

    @abstractmethod
    def check_right(self, given: Any) -> None:
        """Raise `UsageError` if this cannot be the right answer to a text."""

    @abstractmethod
    def followed(self, records: Sequence[Mapping[str, Any]], held_out: Any) -> list[Followed]:
        """Return the figures of recent answers (`Answers.records`) that are compared with those to held-out rows."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Return what is known about it, as JSON for the clients of a server."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """A line of the README of an exported model."""
