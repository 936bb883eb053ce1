"""Pre-train a classifier on its own texts before it learns their labels.

A run has two stages. First a language model with the shape of the classifier learns to fill in masked tokens, on the
training texts and on texts without labels. Then the classifier starts from its weights. Both stages have the same
vocabulary. Validation and test texts are read in neither. The texts that cross-fitting holds out are training texts.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from glassformer.data.documents import Documents
from glassformer.data.sources import Sources
from glassformer.data.splits import Splits, ValidationConfig
from glassformer.data.unlabelled import Unlabelled, admitted
from glassformer.data.wording import counted
from glassformer.errors import UsageError, brief, brief_value
from glassformer.models.model_config import LanguageModelConfig
from glassformer.prediction.model_folder import (
    LANGUAGE_MODEL,
    TrainedLanguageModel,
    is_model_folder,
    is_unfinished,
    load_model,
)
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.loop import NotANumberError, Observer
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import PretrainingRecipe, PretrainingTokenizerConfig, Recipe
from glassformer.training.time_plan import about
from glassformer.training.unfinished import PRETRAINED_FOLDER

if TYPE_CHECKING:
    from glassformer.training.preparation import Prepared

_HELD_OUT = ValidationConfig(fraction=0.02, min_rows=200)
"""Texts that choose the best weights of the first stage. They are training or unlabelled texts."""
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
    """The texts to pre-train on: those of the training rows, and others without labels."""

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
    training = splits.train.frame["text"]
    frames = {name: None if table is None else table.frame["text"] for name, table in held_out.items()}
    return OwnTexts(training=training, unlabelled=admitted(sources.unlabelled, training=training, **frames))


def pretrain_on_own_texts(prepared: Prepared, observer: Observer) -> tuple[Prepared, dict[str, Any]]:
    """Run the first stage. Without pre-training, do nothing.

    With a work folder, the first stage continues where it stopped. If it is over, its weights are read.

    Returns:
        The same run, to start from the weights of the first stage; and what the model folder records of that stage,
        nothing if there is none.

    Raises:
        InterruptedTraining: on Ctrl-C; the run can be resumed.
        NotANumberError: the first stage diverged before its first epoch was over.
    """
    if prepared.own_texts is None or prepared.recipe.pretraining is None:
        return prepared, {}
    language_model = _first_stage(prepared, prepared.own_texts, observer)
    rows = counted(prepared.splits.train.frame.height, "row")
    observer.on_message(f"stage 2 of 2: training on {rows}")
    init = InitialWeights.of(language_model, "pre-training")
    return prepared.going_on(init=init), _record(language_model, prepared.own_texts)


def _first_stage(prepared: Prepared, own: OwnTexts, observer: Observer) -> TrainedLanguageModel:
    folder = None if prepared.work is None else prepared.work / PRETRAINED_FOLDER
    if folder is not None and is_model_folder(folder):
        observer.on_message("stage 1 of 2: pre-training is over")
        return load_model(folder, LANGUAGE_MODEL)
    # Every process answers before the first of them makes files there.
    (begun,) = prepared.processes.agree(float(folder is not None and is_unfinished(folder)))
    for sentence in (*own.unlabelled.notes, _announced(own, prepared.recipe)):
        observer.on_message(sentence)
    try:
        return pretrain(
            Documents(texts=own.texts, source=" and ".join([prepared.splits.train.source, *own.unlabelled.sources])),
            recipe_of_first_stage(prepared.recipe),
            out=folder,
            resume=bool(begun),
            device=prepared.device,
            observer=observer,
            tokenizer=prepared.tokenizer,
            processes=prepared.processes,
        )
    except NotANumberError as error:
        if error.best is not None:
            observer.on_message(
                f"warning: pre-training diverged: {error.__cause__ or error} The best weights so far are used"
            )
            found: TrainedLanguageModel = error.best
            return found
        message = error.message.replace("`training.", "`pretraining.")
        raise NotANumberError(f"stage 1 of 2, pre-training: {message}") from error


def _announced(own: OwnTexts, recipe: Recipe) -> str:
    unlabelled = f" ({len(own.unlabelled.texts):,} without labels)" if len(own.unlabelled.texts) else ""
    said = f"stage 1 of 2: pre-training on {counted(len(own.texts), 'text')}{unlabelled}"
    assert recipe.pretraining is not None
    seconds = recipe.pretraining.max_seconds
    return said if seconds is None else f"{said} for {about(seconds)}"


def recipe_of_first_stage(recipe: Recipe) -> PretrainingRecipe:
    """Return the recipe of the language model, from that of a classifier with pre-training."""
    assert recipe.pretraining is not None
    tokenizer = recipe.tokenizer.model_dump(exclude={"max_tokens"})
    return PretrainingRecipe(
        validation=_HELD_OUT,
        tokenizer=PretrainingTokenizerConfig.model_validate(tokenizer),
        model=LanguageModelConfig.like(recipe.model),
        training=recipe.pretraining,
    )


def _record(language_model: TrainedLanguageModel, own: OwnTexts) -> dict[str, Any]:
    """Return what the first stage read and how far it came."""
    data, best = language_model.config.data, language_model.metrics["best"]
    recipe = PretrainingRecipe.model_validate(language_model.config.recipe)
    windows = max(1, (data["tokens"] + data["texts"]) // recipe.model.max_seq_len)  # each text has a start token, too
    steps_per_pass = math.ceil(windows / (recipe.training.batch_size * recipe.training.accumulation))
    return {
        "texts": len(own.texts),
        "unlabelled_texts": len(own.unlabelled.texts),
        "unlabelled": list(own.unlabelled.sources),
        "left_out": dict(own.unlabelled.left_out),
        "fingerprint": data["fingerprint"],
        "tokens": data["tokens"],
        "passes": round(language_model.metrics["history"][-1]["step"] / steps_per_pass, 2),
        "seconds": language_model.config.training_seconds,
        **{name: best[name] for name in ("train_loss", "validation_loss") if name in best},
    }
