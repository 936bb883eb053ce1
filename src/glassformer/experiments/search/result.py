"""The record of a search, which is written to `search.json`."""

from typing import Literal

from pydantic import JsonValue

from glassformer.evaluation.record import Estimate, Record
from glassformer.experiments.judging import Figure
from glassformer.experiments.keeper import Experiment
from glassformer.experiments.search.trial import TrialRun


class SearchedData(Record):
    """The table.

    Attributes:
        unseen_rows: the rows that the search never saw. `unseen_groups` are their groups, if rows have groups.
        folds: in how many searches these rows were held out. 1: a fifth of the rows.
    """

    source: str
    rows: int
    inputs: str | None = None
    sha256: str
    unseen_rows: int
    unseen_groups: int | None = None
    folds: int
    rated_on: str


class Trial(Record):
    """A candidate with its trainings.

    Attributes:
        first_loss: the loss after a third of the steps, which all candidates have. None if it was not reached.
        loss: the mean loss over all parts on which the last candidates were trained. None if it is not one of them.
        dropped: why it was then not trained further: its rung, and its loss and place there.
    """

    number: int
    name: str
    settings: dict[str, JsonValue]
    values: dict[str, JsonValue]
    first_loss: float | None
    loss: float | None
    dropped: str | None = None
    parameters: int
    seconds: float
    failed: str | None
    runs: tuple[TrialRun, ...]


class ValueEffect(Record):
    """A value of a setting: the mean loss of the trials that have it, minus the mean loss of all trials."""

    value: str
    trials: int
    effect: Estimate


class SettingEffect(Record):
    """How much a setting mattered.

    Attributes:
        explains: the share of the variance of the losses that the setting explains alone (ω²), at least 0.
        p: of an F-test against no effect; `holm_p` is p after Holm's correction for all settings.
    """

    key: str
    values: tuple[ValueEffect, ...]
    explains: float
    p: float
    holm_p: float
    matters: bool


class Measured(Figure):
    """A figure of the choices and of the recipe as it is, on the rows that the search never saw.

    Attributes:
        difference: found − default, paired. Rows of a group, or of the same text, are alike, so intervals count fewer.
        p: of a paired test. Only of the first figure, and None if rows have groups, because it takes rows to be
            independent.
    """

    found: Estimate
    default: Estimate
    difference: Estimate
    p: float | None = None

    @property
    def better(self) -> bool:
        """Whether the choices are clearly better."""
        return self.difference.high < 0 if self.lower_is_better else self.difference.low > 0

    @property
    def worse(self) -> bool:
        return self.difference.low > 0 if self.lower_is_better else self.difference.high < 0


class Choice(Record):
    """What the search chose without some rows, and how many rows that were."""

    name: str
    settings: dict[str, JsonValue]
    unseen_rows: int


class SearchResult(Experiment):
    """Everything that a search found. The page shows nothing else.

    Attributes:
        best: the number of the trial with the lowest loss. 0 is the recipe as it is.
        choices: what was measured on the rows that the search never saw. With several folds, each has its own choice.
        recommended: which of the two to train with.
        recipe: the best settings, as a TOML file.
    """

    format: int = 2
    data: SearchedData
    minutes: float
    seconds: float
    space: dict[str, list[JsonValue]]
    trials: tuple[Trial, ...]
    best: int
    parts: int
    loss: str
    choices: tuple[Choice, ...]
    figures: tuple[Measured, ...]
    recommended: Literal["found", "default"]
    verdict: str
    effects: tuple[SettingEffect, ...]
    notes: tuple[str, ...]
    recipe: str
    seed: int

    @property
    def deciding(self) -> Measured:
        """The figure that decides."""
        return next(figure for figure in self.figures if figure.decides)
