"""What is asked about the answer to a text: a direction in the scores, and how people read it.

Each kind of answer has its own: `targets/labels/explanation.py`, `targets/number/explanation.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from glassformer.data.arrays import DoubleArray, FloatArray


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a search for a change of words wants.

    Attributes:
        sign: 1 if the margin has to fall for it, −1 if it has to rise.
        gaps: returns how far each row of scores (texts, width) is from it. Below 0 it is reached.
        reached: what the answer then does, such as "turns".
    """

    sign: int
    gaps: Callable[[FloatArray], DoubleArray]
    reached: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked(ABC):
    """What is asked. The margin of a text is `scores @ direction + offset`, and its words have shares of it.

    Attributes:
        direction: (width,)
    """

    whole: ClassVar[str]
    """What a margin is called."""
    unit: ClassVar[str]
    """The unit of a margin, as the end of a phrase: ", in logits"."""
    columns: ClassVar[Mapping[str, type]]
    """The columns about the answer in a table of reasons, and what they hold."""
    word_columns: ClassVar[tuple[str, str]]
    """The columns there of the words with positive shares, and of those with negative ones."""
    share_key: ClassVar[str]
    """What a share is called in these columns if they hold records."""

    prediction: Any
    direction: DoubleArray
    offset: float = 0.0

    @classmethod
    @abstractmethod
    def of(
        cls, target: Any, answers: Any, *, label: Any = None, above: float | None = None, below: float | None = None
    ) -> Self:
        """Ask about the answer to a single text.

        Raises:
            UsageError: one of these does not go with this kind of answer, or with this answer.
        """

    @property
    @abstractmethod
    def named(self) -> str:
        """What is explained, in a word or two."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """The answer and what is explained, in a line."""

    @property
    def why(self) -> str:
        """The question in words."""
        return f"Why {self.named}?"

    @property
    @abstractmethod
    def sides(self) -> tuple[str, str]:
        """What a word with a positive share does, and one with a negative share."""

    @property
    def also_given(self) -> Sequence[Any]:
        """Other answers to the same text that could be asked about."""
        return ()

    @property
    @abstractmethod
    def least(self) -> float:
        """The least size of a margin against which an error of the method is judged."""

    @abstractmethod
    def written(self, share: float) -> str:
        """Write a share with its sign. One that does not matter is written as 0."""

    @abstractmethod
    def rounded(self, share: float) -> float:
        """Round a share for a table."""

    def is_nothing(self, share: float) -> bool:
        """Whether a share is too small to be shown."""
        return self.written(share).strip("0.") == ""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Return the answer and what is asked about it as JSON values."""

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What is asked, as JSON values, for an answer about attention heads."""

    def of_word(self, shares: Mapping[str, float]) -> dict[str, Any]:  # noqa: ARG002
        """Return more of a word as JSON, from its share by each reader."""
        return {}

    @abstractmethod
    def cells(self) -> list[Any]:
        """Return the values of `columns`."""

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What a search for a change of words wants, such as "turns the answer"."""

    @abstractmethod
    def goals(self, scores: FloatArray) -> tuple[Goal, ...]:
        """Return what a search may reach. One of them is enough.

        Args:
            scores: (1, width) of the text.

        Raises:
            UsageError: there is nothing to search for.
        """

    @abstractmethod
    def after(self, answers: Any) -> dict[str, Any]:
        """Return the answer to the changed text as JSON values."""

    @abstractmethod
    def shown(self, after: Mapping[str, Any]) -> str:
        """Write such an answer."""
