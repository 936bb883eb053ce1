"""The records of an audit. They are frozen, and written to `audit.json` as they are."""

from glassformer.doctor.findings import Finding
from glassformer.evaluation.record import Estimate, Record


class Found(Record):
    """Personal data of one kind (`Kind` or `NAME`): the number of different values, and some of them, masked."""

    kind: str
    values: int
    examples: tuple[str, ...]


class FileAudit(Record):
    """A file of the model folder.

    Attributes:
        give_away: whether the file is part of a model that is given away. If not, it stays with the owner.
        found: the personal data in it. None if the file was not searched, because it holds numbers.
    """

    name: str
    holds: str
    give_away: bool
    size_bytes: int
    found: tuple[Found, ...] | None


class Traced(Record):
    """Personal data of the training table, and what the folder tells about it.

    Attributes:
        values: the number of different values in the training texts.
        rows: some rows of the training table that hold one.
        readable: how many values can be read whole in the vocabulary or the n-grams.
        in_ngrams: how many of these the n-grams spell.
        readable_rows: the rows with a readable value.
        confirmable: how many values anyone can confirm who guesses them, by the hashes of seen words. None without
            hashes.
    """

    kind: str
    values: int
    rows: tuple[int, ...]
    readable: int
    in_ngrams: int
    readable_rows: tuple[int, ...]
    examples: tuple[str, ...]
    confirmable: int | None


class Attack(Record):
    """An attack that guesses whether a text was in the training table.

    Attributes:
        auc: the probability that a training text gets a higher score than another text. .5 is chance.
        caught: the share of training texts that it recognises when it is wrong about 1 in 100 other texts. None if
            there are fewer than 100 other texts.
    """

    by: str
    whom: str
    auc: Estimate
    caught: Estimate | None


class Twins(Record):
    """How much the loss rises if one word of a text is replaced by another, on training texts and on others.

    Attributes:
        training, others: the mean rise, in the unit of `Membership.training_loss`.
        difference: training minus others. Memorised texts stand out from their twins.
    """

    texts: int
    training: Estimate
    others: Estimate
    difference: Estimate


class Membership(Record):
    """Who was in the training table: the attacks, and the figures behind them.

    Attributes:
        training_loss, others_loss: mean losses of the answer: nats, or of a number squared deviations.
        training_accuracy, others_accuracy: shares of right answers. None for a number.
    """

    members: int
    others: int
    training_loss: float
    others_loss: float
    training_accuracy: float | None
    others_accuracy: float | None
    attacks: tuple[Attack, ...]
    twins: Twins | None
    notes: tuple[str, ...]

    @property
    def unit(self) -> str:
        """The unit of losses."""
        return "squared deviations" if self.training_accuracy is None else "nats"


class Audit(Record):
    """An audit: the findings, the worst first, and the figures behind them.

    Attributes:
        traced: None if the training table was not read; `unread` then says why.
        membership: None if it was not measured; `unread` or `unmeasured` then says why.
    """

    model: str
    verdict: str
    findings: tuple[Finding, ...]
    files: tuple[FileAudit, ...]
    traced: tuple[Traced, ...] | None
    unread: str
    membership: Membership | None
    unmeasured: str
    seconds: float
    version: str
    created: str
