"""The first stage of a run: pre-train a language model on the run's own texts, and start the classifier from it."""

from __future__ import annotations

import math
from typing import Any

from glassformer.data.documents import Documents
from glassformer.data.splits import ValidationConfig
from glassformer.data.wording import about, counted
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
from glassformer.training.own_text import OwnTexts
from glassformer.training.preparation import Prepared
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import PretrainingRecipe, PretrainingTokenizerConfig, Recipe
from glassformer.training.unfinished import PRETRAINED_FOLDER

_HELD_OUT = ValidationConfig(fraction=0.02, min_rows=200)
"""Texts that choose the best weights of the first stage. They are training or unlabelled texts."""


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
