"""Try the attacks on a model: what was learned, what was not, and readers for which both are known."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from pydantic import ValidationError

from glassformer.audit.membership import (
    KNOWN_NGRAMS,
    SEEN_WORDS,
    Scores,
    attack,
    compare_twins,
    rises,
    twins_of,
)
from glassformer.audit.result import Attack, Membership, Twins
from glassformer.audit.traces import word_runs
from glassformer.data.arrays import FloatArray
from glassformer.data.inputs import texts_alone
from glassformer.data.sources import Sources
from glassformer.data.splits import Splits, ValidationConfig, make_splits
from glassformer.data.table import Table, text_keys
from glassformer.data.wording import counted
from glassformer.errors import UsageError
from glassformer.models.model_config import ModelConfig
from glassformer.prediction.answering_config import TRANSFORMER
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.ngrams import runs_of, words_of
from glassformer.readers.counting.reader import WithReaders
from glassformer.readers.counting.unlike import Seen
from glassformer.readers.folds import folds_of
from glassformer.readers.reader import Reader
from glassformer.training.loop import Silent
from glassformer.training.own_text import own_texts
from glassformer.training.processes import ALONE
from glassformer.training.readers import learn_readers
from glassformer.training.recipe import Recipe
from glassformer.training.unlike import learn_seen

Say = Callable[[str], None]
_MOST_TEXTS = 2_000  # of each side
_MOST_TWINS, _COPIES = 500, 3
_MOST_WORDS = 200_000  # that words of twins are drawn from
_FEWEST_ROWS = 40  # of a table that is cut


class CannotMeasureError(UsageError):
    """No text is known that the model has not learned."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sides(WithReaders):
    """Learned rows, rows that were not learned, and the readers that know only the former.

    Attributes:
        transformer: whether the transformer of the folder has not learned `others`.
        readers: those beside the transformer that the model asks, fitted for the audit without these rows.
    """

    members: Table
    others: Table
    transformer: bool
    readers: Mapping[str, Reader]
    seen: Seen | None

    @property
    def whom(self) -> str:
        """Who is attacked."""
        return f"{_readers(self.readers)}, fitted without the other texts" if self.readers else "the model as it is"


def measure_membership(predictor: Predictor, splits: Splits, *, say: Say = lambda _: None) -> Membership:
    """Try to tell the rows that a model learned from held-out rows.

    The transformer never learned the validation rows, so it is attacked as it is. The readers beside it learned them
    too: they are fitted again without them, as training did to find their weights. If nothing was held out, a quarter
    of the rows is held out now, and the transformer is left out, because it learned them all.

    Raises:
        CannotMeasureError: there are too few rows, or no reader that can be asked.
    """
    sides = _sides(predictor, splits, say)
    return _Measured(predictor, sides).membership(say)


def _sides(predictor: Predictor, splits: Splits, say: Say) -> _Sides:
    trained = predictor.trained
    train, validation, seen = splits.train, splits.validation, trained.seen
    whole = validation is None
    if validation is None:
        if train.frame.height < _FEWEST_ROWS:
            raise CannotMeasureError(
                f"the table has {counted(train.frame.height, 'row')}; with fewer than {_FEWEST_ROWS} there are too few "
                "to compare learned texts with others"
            )
        kind = _kind(predictor)
        labels = kind.strata(kind.truth(trained.config, train))
        same = text_keys(train.frame["text"]).rank("dense").to_numpy()
        groups = train.frame["group"].rank("dense").to_numpy() if "group" in train.frame.columns else None
        fold = folds_of(labels, seed=0, groups=groups, texts=same)[0]
        train, validation = (replace(train, frame=train.frame[rows]) for rows in (fold.learned, fold.held_out))
        seen = None if seen is None else learn_seen(train, None)[0]
    if not trained.readers and whole:
        raise CannotMeasureError("nothing was held out at training, so the model has learned every row of its table")
    readers: dict[str, Reader] = {}
    if again := [name for name in trained.readers if name != "encoder"]:
        rows = f"{train.frame.height:,} rows, without the other {validation.frame.height:,}"
        say(f"fitting {_readers(again)} to {rows}")
        fewest = None if trained.counting is None else trained.counting.settings.get("fewest_texts")
        readers = _fitted(predictor, train, fewest if fewest in (1, 2) else None)
    return _Sides(members=_some(train), others=_some(validation), transformer=not whole, readers=readers, seen=seen)


def _readers(names: Iterable[str]) -> str:
    first, *more = names
    return f"the readers {' and '.join([first, *more])}" if more else f"the {first} reader"


def _some(table: Table) -> Table:
    rows = min(_MOST_TEXTS, table.frame.height)
    return replace(table, frame=table.frame.sample(rows, seed=0, shuffle=True))


def _fitted(predictor: Predictor, rows: Table, fewest: int | None) -> dict[str, Reader]:
    """Fit the readers that the model asks beside its transformer to some rows, as training fits them.

    Args:
        fewest: of the texts that an n-gram of the model occurs in. With fewer rows, training may choose another number,
            and n-grams of a single text would reveal more than those of the model.
    """
    config = predictor.trained.config
    try:
        recipe = Recipe.model_validate(config.recipe)
    except ValidationError as error:
        raise CannotMeasureError(
            "config.json holds settings that this glassformer does not know; train the model again"
        ) from error
    try:
        splits = make_splits(rows, ValidationConfig(fraction=0.1, min_rows=0), seed=recipe.training.seed)
    except UsageError as error:
        raise CannotMeasureError(
            "the table holds too few different texts to compare learned texts with others"
        ) from error
    kind = _kind(predictor)
    recipe = _of_cheap_readers(recipe, predictor.trained.readers)
    prepared = kind.prepared(
        config, recipe=recipe, splits=splits, own_texts=own_texts(Sources(train=rows), splits, recipe), init=None,
        device="cpu", work=None, processes=ALONE,
    )  # fmt: skip
    try:
        lessons = partial(config.target.part("training").lessons, fewest=fewest)
        rules = predictor.trained.readers.get("rules")
        learned = learn_readers(prepared, lessons, Silent(), rules=rules)
    except UsageError as error:  # the folder of its body is gone
        raise CannotMeasureError(error.message) from error
    fitted = {} if learned is None else learned.fitted
    return {name: each.reader for name, each in fitted.items() if name in predictor.trained.readers}


def _of_cheap_readers(recipe: Recipe, asked: Container[str]) -> Recipe:
    """Return the recipe with those readers alone that the model asks, and without an encoder."""
    ours = recipe.model
    assert isinstance(ours, ModelConfig)  # others have no such readers
    installed = tuple(name for name in ours.readers if name in asked)
    model = ours.model_copy(update={"body": ours.body if "body" in asked else "none", "readers": installed})
    return recipe.model_copy(update={"model": model})


def _kind(predictor: Predictor) -> Any:
    """Return how the answers of a model are attacked: `targets/labels/audit.py`, or that of a number."""
    return predictor.trained.config.target.part("audit")


def _share_of(known: Container[str], text: str) -> float:
    """Return the share of the runs of words of a text that are known."""
    return float(np.mean([run in known for run in runs_of(words_of(text))] or [False]))


class _Measured:
    """The scores of both sides, by each thing that an attack can look at."""

    def __init__(self, predictor: Predictor, sides: _Sides) -> None:
        self.predictor, self.sides, self.config = predictor, sides, predictor.trained.config
        self.kind = _kind(predictor)
        self.texts = [table.frame["text"].to_list() for table in (sides.members, sides.others)]
        self.truth = [self.kind.truth(self.config, table) for table in (sides.members, sides.others)]

    def membership(self, say: Say) -> Membership:
        """Try every attack that is possible."""
        say("asking the model for learned and for other texts")
        attacks = list(self._attacks())
        twins = None
        if self.answers is not None:
            say("asking it for near copies of these texts")
            twins, by_twins = self._twins()
            attacks.append(by_twins)
        alone = self.answers or self.by_counting
        if alone is None:
            raise CannotMeasureError(
                f"the model asks {_readers(self.config.asked)}, and not all of them are fitted again without some rows"
            )
        means = [float(self._losses(scores, side).mean()) for side, scores in enumerate(alone)]
        right = [self.kind.right(scores, truth) for scores, truth in zip(alone, self.truth, strict=True)]
        return Membership(
            members=len(self.texts[0]),
            others=len(self.texts[1]),
            training_loss=means[0],
            others_loss=means[1],
            training_accuracy=right[0],
            others_accuracy=right[1],
            attacks=tuple(attacks),
            twins=twins,
            notes=tuple(self._notes()),
        )

    def _attacks(self) -> Any:
        config, sides = self.config, self.sides
        whom = sides.whom
        if self.answers is not None:
            yield self._by_loss("loss of the answer", whom, self.answers)
        if self.by_counting is not None and (self.answers is None or not config.answers_by_counting):
            assert config.readers is not None
            yield self._by_loss("loss of counting alone", whom, self.by_counting, config.readers.counting.temperature)
        if self.by_transformer is not None and sides.readers:
            yield self._by_loss("loss of the transformer alone", "the transformer as it is", self.by_transformer, 1.0)
        if sides.seen is not None:
            scores = [-sides.seen.unseen_shares(texts).astype(np.float64) for texts in self.texts]
            is_own = "seen.safetensors as it is" if sides.transformer else "seen words of the learned texts"
            yield attack(SEEN_WORDS, is_own, *scores)
        if sides.counting is not None and (known := word_runs(sides.counting)):
            shares = (np.array([_share_of(known, text) for text in texts]) for texts in self.texts)
            yield attack(KNOWN_NGRAMS, whom, *shares)

    def _by_loss(self, by: str, whom: str, scores: Sequence[FloatArray], temperature: float | None = None) -> Attack:
        members, others = (-self._losses(found, side, temperature) for side, found in enumerate(scores))
        return attack(by, whom, members, others)

    def _losses(self, scores: FloatArray, side: int, temperature: float | None = None) -> Scores:
        """Return the loss of each text, or of the first ones. By default, the temperature is that of the model."""
        return self.kind.losses(self.config.target, scores, self.truth[side][: len(scores)], temperature)

    @cached_property
    def by_counting(self) -> list[FloatArray] | None:
        """The weighted scores of the counting reader for both sides."""
        counting = self.sides.counting
        if counting is None:
            return None
        alone = [self.kind.alone(self.predictor, "counting", counting.scores(texts)) for texts in self.texts]
        pairs = zip(alone, self.texts, strict=True)
        return [self._scores("counting", texts) if scores is None else scores for scores, texts in pairs]

    def _scores(self, name: str, texts: Sequence[str]) -> FloatArray:
        """Return the weighted scores of a reader, which was fitted again if it learned both sides."""
        reader = self.sides.readers.get(name)
        return self.config.weights[name] * (
            self.predictor.alone(name, texts) if reader is None else reader.scores(texts)
        )

    @cached_property
    def by_transformer(self) -> list[FloatArray] | None:
        """The scores of the transformer for both sides, without its weight. None if it learned both, or nothing."""
        untrained = self.config.transformer_is_silent and not self.predictor.trained.metrics.get("history")
        if untrained or not self.sides.transformer:
            return None
        raw = [self.predictor.alone("transformer", texts) for texts in self.texts]
        alone = [self.kind.alone(self.predictor, "transformer", scores) for scores in raw]
        return [scores if found is None else found for scores, found in zip(raw, alone, strict=True)]

    @cached_property
    def answers(self) -> list[FloatArray] | None:
        """The scores of the answers. None if they need the transformer, and it has learned both sides."""
        known = {*self.sides.readers, *([TRANSFORMER] if self.sides.transformer else [])}  # not to have learned both
        return [self._answered(texts) for texts in self.texts] if {*self.config.asked} <= known else None

    def _answered(self, texts: Sequence[str]) -> FloatArray:
        scores = {name: self._scores(name, texts) for name in self.config.asked}
        return np.sum(list(self.config.target.decided(scores).values()), axis=0)

    def _twins(self) -> tuple[Twins, Attack]:
        """Compare texts with near copies, in which a word is replaced by a word of the learned texts."""
        words = " ".join(map(texts_alone, self.texts[0])).split()[:_MOST_WORDS]
        risen = []
        for side, texts in enumerate(self.texts):
            some = texts[:_MOST_TWINS]
            copies = twins_of(some, words, copies=_COPIES, seed=side)
            risen.append(rises(self._answered, some, copies, partial(self._losses, side=side)))
        return compare_twins(*risen), attack("loss against near copies", self.sides.whom, *risen)

    def _notes(self) -> Any:
        if self.answers is None and not self.sides.transformer:
            yield "The transformer learned every row of the table, so it was not measured: no held-out rows are left."
        elif self.answers is None:
            yield "Its answers were not attacked: they need a reader that is not fitted again without held-out rows."
        if self.config.data.get("body", {}).get("unlabelled") and "body" in self.sides.readers:
            yield "The word vectors of what is attacked here were not continued on the unlabelled texts."
        if self.sides.readers:
            yield (
                f"In the folder, {_readers(self.sides.readers)} learned the held-out rows too. What is attacked here "
                "was fitted without them in the same way."
            )
