"""The records of where a model is weak: its worst errors, slices of the rows, and small changes of a text."""

from typing import Any, Generic, Literal, TypeVar

from glassformer.evaluation.record import Estimate, Record
from glassformer.prediction.label_doubts import Doubted

_Row = TypeVar("_Row", bound=Doubted)
Change = TypeVar("Change", bound="AnyTextChange[Any]")
_Answer = TypeVar("_Answer")


class ErrorReasons(Record):
    """What the words `text[start:end]` add to the margin of `label` over `rival`, in logits: (start, end, share).

    `rival` is None with several labels per text: then the margin is the logit of `label`.
    """

    label: str
    rival: str | None
    method: str
    words: tuple[tuple[int, int, float], ...]


class WorstError(Record):
    """A row with a wrong answer of high confidence. `text` is empty if it is not to be shown.

    `truth` and `prediction` hold the name of one label, or any number of names with several labels per text.
    `confidence` is the probability that the model gave to its wrong answer. With several labels, it is that of
    `wrong_label`, the surest label that was given or left out wrongly. `reasons` are found for some errors only.
    """

    row: int
    text: str
    truth: tuple[str, ...]
    prediction: tuple[str, ...]
    confidence: float
    wrong_label: str | None = None
    reasons: ErrorReasons | None = None


class InputShare(Record):
    """What an input of the rows gives.

    `gain` is what the leading figure on `rows` rows loses if the values are permuted among them.
    """

    name: str
    kind: Literal["text", "column"]
    rows: int
    gain: Estimate


class Slice(Record):
    """Rows that have something in common, and how often the model is right on them and on all others.

    They have a length in words, a value of another column, or a keyword. `column` is the name of this column. `p` is
    the probability of so few right rows by chance (Fisher's exact test, one-sided). `corrected_p` is p after
    Benjamini–Hochberg over all slices that were looked at.
    """

    kind: Literal["length", "column", "keyword"]
    column: str | None = None
    value: str
    rows: int
    accuracy: Estimate
    accuracy_of_rest: float
    p: float
    corrected_p: float


class Slices(Record):
    """Where the model is worse: how many slices were compared with the rest, and how many are significantly worse.

    `columns` are the columns that gave slices. `listed` are the slices with the lowest p, lowest first; at most 100.
    """

    looked_at: int
    significantly_worse: int
    columns: tuple[str, ...]
    listed: tuple[Slice, ...]


class ChangedAnswer(Record, Generic[_Answer]):
    """A text before and after a small change, and both answers: labels, or a number."""

    row: int
    before: str
    after: str
    answer_before: _Answer
    answer_after: _Answer


class AnyTextChange(Record, Generic[_Answer]):
    """What a small change of the texts did to the answers. Texts that it left as they were do not count.

    `rows` are the texts that it altered. If it is random, each text was changed `draws` times, and the figures are
    means over texts of the mean over these draws.
    """

    name: str
    rows: int
    draws: int = 1
    examples: tuple[ChangedAnswer[_Answer], ...]


class TextChange(AnyTextChange[tuple[str, ...]]):
    """A change of texts that have labels. `accuracy_after` is None if the right label may have changed."""

    answers_changed: Estimate
    accuracy_before: float
    accuracy_after: float | None


class Robustness(Record, Generic[Change]):
    """How answers change with small changes of the texts, on `rows` of the measured rows, drawn at random."""

    rows: int
    changes: tuple[Change, ...]


class DoubtfulRows(Record, Generic[_Row]):
    """The labels of training that the model doubts: those of `doubtful` of the `rows` rows held out from it.

    `listed` are the most doubtful of them, with their row numbers in `source`, and the beginnings of their texts, None
    if the training table cannot be read any more. `command` checks the whole training
    table; it is None if `labels` cannot read this table.
    """

    source: str
    rows: int
    doubtful: int
    listed: tuple[_Row, ...]
    command: str | None
    cross_fitted: bool = False
    """Whether the rows are all those of training, each answered by a model that had not learned it."""


class NextStep(Record):
    """Something to do next. `section` is the part of the report that says more, `command` the command that does it."""

    text: str
    section: str | None = None
    command: str | None = None

    @property
    def on_one_line(self) -> str:
        return self.text if self.command is None else f"{self.text} `{self.command}`"
