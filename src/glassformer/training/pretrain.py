"""Run pre-training: read texts and write the model folder of a language model.

It may be the first stage of a run: a language model learns the run's own texts, and the classifier starts from it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from glassformer.data.arrays import BoolArray
from glassformer.data.documents import Documents, split_documents
from glassformer.data.splits import ValidationConfig
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer, TokenizerConfig
from glassformer.data.wording import about, counted
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.build import build_language_model
from glassformer.models.language_model import TokenPredictor
from glassformer.models.memory import check_fits
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.parts import embedding_table
from glassformer.models.replaced_tokens import ReplacedTokens
from glassformer.pages.html import written
from glassformer.prediction.folder_config import LanguageFolderConfig
from glassformer.prediction.folder_format import is_model_folder, is_unfinished
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER, STATE_FILE
from glassformer.prediction.generation import TextGenerator
from glassformer.prediction.model_folder import (
    LANGUAGE_MODEL,
    TrainedLanguageModel,
    load_model,
    save_model,
)
from glassformer.prediction.sampling import SamplingConfig
from glassformer.readers.body.vectors import Body, body_folder
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.language_modelling import FindingReplacedTokens, LanguageModelling
from glassformer.training.loop import NotANumberError, Observer, Silent, Trainer
from glassformer.training.own_text import OwnTexts
from glassformer.training.preparation import Prepared
from glassformer.training.processes import ALONE, Processes, leader_first
from glassformer.training.recipe import PretrainingRecipe, PretrainingTokenizerConfig, Recipe
from glassformer.training.unfinished import (
    PRETRAINED_FOLDER,
    content_of,
    encode,
    learn_tokenizer,
    made_now,
    run_to_end,
    work_in,
)

_SAMPLE = SamplingConfig(max_tokens=40, temperature=0.8, top_p=0.95)
_LARGEST_LOSS = 30.0  # above it the perplexity is too large to be useful, and soon overflows
_HELD_OUT = ValidationConfig(fraction=0.02, min_rows=200)
"""Texts that choose the best weights of the first stage. They are training or unlabelled texts."""


@dataclass(frozen=True, kw_only=True)
class PreparedTexts:
    """What a run is about to train on.

    Attributes:
        unknown: the share of these tokens that are not in the vocabulary.
    """

    train: Documents
    validation: Documents | None
    tokens: int
    unknown: float
    vocab_size: int
    parameters: int


def pretrain(
    documents: Documents,
    recipe: PretrainingRecipe,
    *,
    out: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    device: str = "cpu",
    observer: Observer | None = None,
    on_prepared: Callable[[PreparedTexts], None] | None = None,
    prompt: str = "",
    tokenizer: TextTokenizer | None = None,
    processes: Processes = ALONE,
) -> TrainedLanguageModel:
    """Hold out texts, learn a vocabulary, encode and train. With `out`, write a model folder there.

    Args:
        resume: continue the unfinished run in `out`. Texts and recipe must be the same as before.
        on_prepared: receives the texts and the size of the model before training begins.
        tokenizer: the tokenizer of `recipe.tokenizer`, if it was learned before.

    Raises:
        UsageError: there is too little text, or `out` is in use already.
        InterruptedTraining: on Ctrl-C; `out` can be resumed.
        LostProcessError: another process ended too early; `out` can be resumed if it had begun to train.
        NotANumberError: training diverged; the best weights so far, if any, are in `out`.
    """
    observer = observer or Silent()
    train, validation = split_documents(documents, recipe.validation, seed=recipe.training.seed)
    work = None if out is None else out / CHECKPOINT_FOLDER
    identity = {"texts": documents.fingerprint, "recipe": recipe}
    identity |= content_of(recipe.training.start_body)
    with work_in(out, identity, resume=resume, overwrite=overwrite, processes=processes):
        with leader_first(processes):
            tokenizer = tokenizer or learn_tokenizer(train.texts, recipe.tokenizer, work)
            store = encode(train.texts, tokenizer, work, "train")
            trainer = _trainer(store, validation, tokenizer, recipe, work, device)
        trainer.processes = processes
        parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
        unknown = float((store.tokens == UNKNOWN_ID).mean()) if len(store.tokens) else 0.0
        if on_prepared:
            prepared = PreparedTexts(
                train=train,
                validation=validation,
                tokens=len(store.tokens),
                unknown=unknown,
                vocab_size=tokenizer.vocab_size,
                parameters=parameters,
            )
            on_prepared(prepared)
        trainer.observer = observer
        if recipe.model.causal and processes.leads:
            writer = TextGenerator(_language_model(trainer), tokenizer, max_seq_len=recipe.model.max_seq_len)
            trainer.observer = _Sampling(observer, writer, prompt)

        def save() -> TrainedLanguageModel:
            trained = _finished(trainer, tokenizer, train, validation, recipe, parameters, tokens=len(store.tokens))
            if out is not None and processes.leads:
                card = written(
                    "training/language_card", config=trained.config, metrics=trained.metrics, in_words=figures_in_words
                )
                save_model(out, trained, card=card)
            return trained

        return run_to_end(trainer, out, resume=resume, save=save)


def _trainer(
    store: TokenStore,
    validation: Documents | None,
    tokenizer: TextTokenizer,
    recipe: PretrainingRecipe,
    work: Path | None,
    device: str,
) -> Trainer[nn.Module]:
    """Return the trainer of a new model on its encoded texts. The recipe's seed decides the initial weights."""
    replaced = recipe.training.replaced and not recipe.model.causal
    task = (FindingReplacedTokens if replaced else LanguageModelling)(
        store,
        recipe.training,
        window=recipe.model.max_seq_len,
        causal=recipe.model.causal,
        validation=None if validation is None else encode(validation.texts, tokenizer, work, "validation"),
        validation_bytes=validation.n_bytes if validation is not None and _spells(recipe.tokenizer) else 0,
        begins_word=begins_word(tokenizer, recipe.tokenizer.kind),
    )
    check_fits(
        build_language_model, recipe.model, tokenizer.vocab_size, optimizer=recipe.training.optimizer, device=device
    )
    torch.manual_seed(recipe.training.seed)
    model: nn.Module
    if replaced and isinstance(recipe.model, LanguageModelConfig):
        model = ReplacedTokens(recipe.model, tokenizer.vocab_size)
    else:
        model = build_language_model(recipe.model, tokenizer.vocab_size)
    if recipe.training.start_body != "none":
        start_embeddings(model, tokenizer, body_folder(recipe.training.start_body))
    return Trainer(model.to(device), task, recipe.training, checkpoint=None if work is None else work / STATE_FILE)


def _language_model(trainer: Trainer[nn.Module]) -> TokenPredictor:
    model = trainer.model.detector if isinstance(trainer.model, ReplacedTokens) else trainer.model
    return cast(TokenPredictor, model)


def start_embeddings(model: nn.Module, tokenizer: TextTokenizer, folder: Path) -> None:
    """Start the embeddings of words from the vectors of a body, as long as those that start at random on average.

    Pieces of words, and features beyond those of the body, start at random.

    Raises:
        UsageError: no token is a word of the body.
    """
    body = Body.load(folder)
    table = embedding_table(model)
    assert table is not None
    rows: dict[int, int] = {}
    for number, id_ in enumerate(tokenizer.word_ids(body.words)):
        if id_ is not None:
            rows.setdefault(id_, number)  # of words that are one token, the most frequent
    if not rows:
        raise UsageError(
            f"training.start_body: no token is a word of {folder.name}; choose a vocabulary that holds words "
            "(`tokenizer.kind='wordpiece'`), or leave it out"
        )
    ids, numbers = [*rows], [*rows.values()]
    vectors = torch.from_numpy(body.vectors - body.vectors.mean(axis=0))[numbers, : table.shape[1]]
    with torch.no_grad():
        length = table[ids].norm(dim=1).mean() / vectors.norm(dim=1).mean()
        table[ids, : vectors.shape[1]] = vectors * length


def _spells(config: TokenizerConfig) -> bool:
    """Whether the tokens of a text spell every byte of it. The bytes can then be counted."""
    as_it_is = config.normalization == "none" and not config.lowercase and not config.strip_accents
    return config.kind in {"byte", "bpe"} and as_it_is


def begins_word(tokenizer: TextTokenizer, kind: str) -> BoolArray:
    """Return which tokens begin a word, (vocab,): those after a space, or those that do not continue a piece.

    In `bpe`, anything that follows a word without a space counts as part of it, for example punctuation.
    """
    begins = np.ones(tokenizer.vocab_size, dtype=bool)
    for token, id_ in tokenizer.vocabulary().items():
        match kind:
            case "bpe" | "byte":
                begins[id_] = token[0] in "\u0120\u0109\u010a\u010d"  # the library's space, tab and line breaks
            case "unigram":
                begins[id_] = token[0] == "\u2581"
            case "wordpiece":
                begins[id_] = not token.startswith("##")
            case "character":
                begins[id_] = token.isspace()
    return begins


class _Sampling:
    """An observer that passes everything on to another, and after each epoch a sample of the model's text."""

    def __init__(self, inner: Observer, writer: TextGenerator, prompt: str) -> None:
        self._inner, self._writer, self._prompt = inner, writer, prompt
        self.on_step, self.on_message = inner.on_step, inner.on_message

    def on_epoch(self, row: dict[str, float]) -> None:
        self._inner.on_epoch(row)
        try:
            (written,) = self._writer.complete([self._prompt], _SAMPLE)
        except GlassformerError as error:  # the next step meets the same error and reports it
            self._inner.on_message(f"  it cannot write: {error}")
            return
        self._inner.on_message(f"  it writes: {self._prompt}{' '.join(written.text.splitlines())}")


def _finished(
    trainer: Trainer[nn.Module],
    tokenizer: TextTokenizer,
    train: Documents,
    validation: Documents | None,
    recipe: PretrainingRecipe,
    parameters: int,
    *,
    tokens: int,
) -> TrainedLanguageModel:
    """Return the model as the model folder will hold it."""
    state = trainer.state
    config = LanguageFolderConfig(
        model=recipe.model,
        vocab_size=tokenizer.vocab_size,
        tokenizer=TokenizerConfig(**recipe.tokenizer.model_dump()),  # as it will be read again
        data={
            "source": train.source,
            "texts": len(train.texts),
            "validation_texts": 0 if validation is None else len(validation.texts),
            "bytes": train.n_bytes,
            "tokens": tokens,
            "fingerprint": train.fingerprint,
            "parameters": parameters,
            "notes": list(train.notes),
        },
        recipe=recipe.model_dump(mode="json"),
        **made_now(state.seconds),
    )
    return TrainedLanguageModel(
        config=config, model=_language_model(trainer).cpu().eval(), tokenizer=tokenizer, metrics=state.metrics()
    )


def figures_in_words(row: dict[str, float]) -> str:
    """Return the validation metrics of an epoch in words."""
    loss = row["validation_loss"]
    bits, detected = row.get("validation_bits_per_byte"), row.get("validation_detected")
    parts = [f"loss {loss:.4f} nats per token"]
    if detected is not None:
        parts.append(f"right about {detected:.2%} of the tokens")
    elif loss < _LARGEST_LOSS:
        parts.append(f"perplexity {math.exp(loss):,.1f}")
    if bits is not None:
        parts.append(f"{bits:.4f} bits per byte")
    return ", ".join(parts)


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
    try:
        record = _record(language_model, prepared.own_texts)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:  # of a resumed run that was changed
        raise GlassformerError(
            "the first stage of this run does not say how it was made; start the run again with `overwrite=True`"
        ) from error
    rows = counted(prepared.splits.train.frame.height, "row")
    observer.on_message(f"stage 2 of 2: training on {rows}")
    init = InitialWeights.of(language_model, "pre-training")
    return prepared.going_on(init=init), record


def _first_stage(prepared: Prepared, own: OwnTexts, observer: Observer) -> TrainedLanguageModel:
    folder = None if prepared.work is None else prepared.work / PRETRAINED_FOLDER
    if folder is not None and is_model_folder(folder):
        observer.on_message("stage 1 of 2: pre-training is over")
        return load_model(folder, LANGUAGE_MODEL)
    # Every process answers before the first of them makes files there.
    (begun,) = prepared.processes.agree(float(folder is not None and is_unfinished(folder)))
    assert prepared.recipe.pretraining is not None
    seconds = prepared.recipe.pretraining.max_seconds
    how_long = "" if seconds is None else f" for {about(seconds)}"
    observer.on_message(f"stage 1 of 2: pre-training on {own.in_words}{how_long}")
    source = prepared.splits.train.source
    try:
        return pretrain(
            Documents(texts=own.texts, source=" and ".join(dict.fromkeys([source, *own.unlabelled.sources]))),
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
            return error.best
        message = error.message.replace("`training.", "`pretraining.")
        raise NotANumberError(f"stage 1 of 2, pre-training: {message}") from error


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
        **own.record,
        "fingerprint": data["fingerprint"],
        "tokens": data["tokens"],
        "passes": round(language_model.metrics["history"][-1]["step"] / steps_per_pass, 2),
        "seconds": language_model.config.training_seconds,
        **{name: best[name] for name in ("train_loss", "validation_loss") if name in best},
    }
