"""The texts that a run reads without their labels: those of the training rows, and others that have none.

With pre-training (see `pretrain.py`), a run has two stages. First a language model with the shape of the classifier
learns to fill in masked tokens of these texts. Then the classifier starts from its weights. Both stages have the same
vocabulary. The word vectors of the body reader are continued on these texts too (see `readers.py`). Validation and
test texts are never read. The texts that cross-fitting holds out are training texts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from glassformer.data.documents import Documents, Unlabelled, admitted, texts_apart
from glassformer.data.sources import Sources
from glassformer.data.splits import Splits
from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.errors import UsageError, brief, brief_value
from glassformer.models.model_config import OWN_BODY, LanguageModelConfig, ModelConfig
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.recipe import Recipe

LEAST_UNLABELLED = 0.1
"""Fewer rows without a label than this share of the labelled ones are slips, not a collection of texts."""
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def seconds_of(duration: str) -> float:
    """Return the seconds of a duration: `30m`, `2h`, `90s` or `1.5h`.

    Raises:
        UsageError: it is not a duration, or it is 0.
    """
    if not isinstance(duration, str):
        raise UsageError(f"`pretrain={brief_value(duration)}`: give a duration such as '30m', '2h' or '90s'")
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smh]?)", duration.strip())
    if found is None or (float(found[1]) and not found[2]):
        hint = f": {found[1]}s, {found[1]}m or {found[1]}h" if found else ", such as 30m, 2h or 90s"
        raise UsageError(f"`pretrain={brief(duration)!r}`: give a number with a unit{hint}")
    seconds = float(found[1]) * _SECONDS[found[2] or "s"]
    if not seconds:
        raise UsageError(
            f"`pretrain={brief(duration)!r}` leaves no time to pre-train; name a longer one, or leave it out"
        )
    return seconds


@dataclass(frozen=True, kw_only=True)
class OwnTexts:
    """The texts of the training rows, each input by itself, and others without labels.

    Attributes:
        for_pretraining, for_body: whether a language model, or word vectors, may learn from them.
    """

    training: pl.Series
    unlabelled: Unlabelled
    for_pretraining: bool
    for_body: bool

    @property
    def texts(self) -> pl.Series:
        """The training texts in their order, then the unlabelled ones."""
        return pl.concat([self.training, self.unlabelled.texts])

    @property
    def in_words(self) -> str:
        unlabelled = f" ({len(self.unlabelled.texts):,} without labels)" if len(self.unlabelled.texts) else ""
        return f"{counted(len(self.texts), 'text')}{unlabelled}"

    @property
    def record(self) -> dict[str, Any]:
        """What the model folder says of them."""
        return {
            "texts": len(self.texts),
            "unlabelled_texts": len(self.unlabelled.texts),
            "unlabelled": list(self.unlabelled.sources),
            "left_out": dict(self.unlabelled.left_out),
        }


def can_pretrain(recipe: Recipe, init: InitialWeights | None) -> bool:
    """Whether a model of this recipe can be pre-trained: it has no weights yet, and a language model has its shape."""
    try:
        LanguageModelConfig.like(recipe.model)
    except ValueError:
        return False
    return init is None


def own_texts(
    sources: Sources, splits: Splits, recipe: Recipe, init: InitialWeights | None = None, *, perhaps: bool = False
) -> OwnTexts | None:
    """Return the texts that a run with this recipe may learn from without labels. None if nothing does.

    Args:
        perhaps: whether the run may pre-train although the recipe does not say so.

    Raises:
        UsageError: there are unlabelled texts that nothing reads; or all of a source are left out. Rows without a
            label are no such source.
    """
    given = [texts for texts in sources.unlabelled if not texts.own]
    for_pretraining = recipe.pretraining is not None or perhaps
    for_body = _learns_vectors(recipe, bool(given) or _many(sources.unlabelled, splits))
    if not (for_pretraining or for_body):
        if given:
            pretrain = (
                "or `pretrain='30m'`" if init is None else f"(pre-training does not go with `init={init.name!r}`)"
            )
            raise UsageError(
                "`unlabelled=`: only word vectors and pre-training read these texts; add `model.body='english'`, "
                f"`model.body='own'` for other languages, {pretrain}"
            )
        return None
    held_out = {"validation": splits.validation, "test": sources.test}
    training = _texts_of(splits.train)
    frames = {name: None if table is None else _texts_of(table) for name, table in held_out.items()}
    unlabelled = admitted(sources.unlabelled, training=training, **frames)
    return OwnTexts(training=training, unlabelled=unlabelled, for_pretraining=for_pretraining, for_body=for_body)


def _many(own: Sequence[Documents], splits: Splits) -> bool:
    """Whether there are enough rows without a label that it is worth while to continue word vectors on all texts."""
    labelled = sum(table.frame.height for table in splits.tables)
    return sum(len(texts.texts) for texts in own) >= LEAST_UNLABELLED * labelled


def reads_without_labels(recipe: Recipe) -> bool:
    """Whether a run with this recipe reads unlabelled texts, if there are some."""
    return recipe.pretraining is not None or _learns_vectors(recipe, unlabelled=True)


def _learns_vectors(recipe: Recipe, unlabelled: bool) -> bool:
    """Whether a body reader learns word vectors from the run's own texts."""
    model = recipe.model
    return isinstance(model, ModelConfig) and "body" in model.beside and (unlabelled or model.body == OWN_BODY)


def _texts_of(table: Table) -> pl.Series:
    return texts_apart(table.frame["text"], table.inputs)
