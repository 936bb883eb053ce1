"""The texts that a classifier is pre-trained on before it learns their labels: see `pretrain.py`.

A run has two stages. First a language model with the shape of the classifier learns to fill in masked tokens, on the
training texts and on texts without labels. Then the classifier starts from its weights. Both stages have the same
vocabulary. Validation and test texts are read in neither. The texts that cross-fitting holds out are training texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from glassformer.data.documents import Unlabelled, admitted
from glassformer.data.inputs import MARK, SEPARATOR
from glassformer.data.sources import Sources
from glassformer.data.splits import Splits
from glassformer.data.table import Table
from glassformer.errors import UsageError, brief, brief_value
from glassformer.models.model_config import LanguageModelConfig
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.recipe import Recipe

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
    """The texts to pre-train on: those of the training rows, each input by itself, and others without labels."""

    training: pl.Series
    unlabelled: Unlabelled

    @property
    def texts(self) -> pl.Series:
        """The training texts in their order, then the unlabelled ones."""
        return pl.concat([self.training, self.unlabelled.texts])


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
    """Return the texts that a run with this recipe may pre-train on. None if it does not pre-train.

    Args:
        init: the weights that the run starts from.
        perhaps: whether the run may pre-train although the recipe does not say so.

    Raises:
        UsageError: there are unlabelled texts, but no pre-training; or all of a source are left out.
    """
    if recipe.pretraining is None and not perhaps:
        if sources.unlabelled and init is not None:
            raise UsageError(
                f"`unlabelled=`: only pre-training reads these texts, and `init={init.name!r}` is a start without it; "
                "leave one of both out"
            )
        if sources.unlabelled:
            raise UsageError(
                "`unlabelled=`: only pre-training reads these texts; add `pretrain='30m'`, or leave them out"
            )
        return None
    held_out = {"validation": splits.validation, "test": sources.test}
    training = _texts_of(splits.train)
    frames = {name: None if table is None else _texts_of(table) for name, table in held_out.items()}
    return OwnTexts(training=training, unlabelled=admitted(sources.unlabelled, training=training, **frames))


def _texts_of(table: Table) -> pl.Series:
    """Return the texts of a table. Of rows with several inputs, each text is one of its own, without the columns."""
    texts = table.frame["text"]
    if table.inputs is None:
        return texts
    apart = texts.str.replace_all(MARK, "").str.split(SEPARATOR).explode()
    return apart.filter(apart.str.strip_chars() != "")
