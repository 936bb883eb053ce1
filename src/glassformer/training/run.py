"""Run training: read a labelled table and write a model folder."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from glassformer.data.arrays import FloatArray
from glassformer.data.sources import SourceConfig, Sources
from glassformer.data.splits import Splits, fingerprint
from glassformer.data.store import TokenStore
from glassformer.data.table import Table
from glassformer.data.tokenizers import UNKNOWN_ID
from glassformer.prediction.answering_config import TRANSFORMER, Readers
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER, STATE_FILE
from glassformer.prediction.kept_texts import KeptTexts
from glassformer.prediction.model_folder import TrainedModel, save_model
from glassformer.prediction.nearest import check_has_vectors, unit_vectors
from glassformer.prediction.scoring import score
from glassformer.readers.counting.unlike import Seen
from glassformer.targets.number.held_out import unseen_figures
from glassformer.targets.parts import part
from glassformer.targets.target import Target
from glassformer.training.card import model_card
from glassformer.training.cross_fitting import Crossed, Gain, OneOfSeveral, cross_fit, trainer_of
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.later_rows import with_drift
from glassformer.training.loop import Observer, Silent, Trainer
from glassformer.training.preparation import Prepared
from glassformer.training.pretrain import pretrain_on_own_texts
from glassformer.training.processes import ALONE, Processes, leader_first
from glassformer.training.readers import LearnedReaders, check_body_exists, learn_readers
from glassformer.training.recipe import Recipe
from glassformer.training.report import training_page
from glassformer.training.snapshots import Snapshots
from glassformer.training.threads import fitting_threads
from glassformer.training.time_plan import plan_time
from glassformer.training.unfinished import content_of_readers, made_now, run_to_end, work_in
from glassformer.training.unlike import learn_seen
from glassformer.training.word_vectors import has_own_vectors

_MANY_UNKNOWN = 0.25  # of the training tokens
_TOKENS_AT_ONCE = 1_000_000


def train_model(
    sources: Sources,
    recipe: Recipe,
    *,
    family: str = "labels",
    source: SourceConfig | None = None,
    out: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    device: str = "cpu",
    observer: Observer | None = None,
    on_prepared: Callable[[Prepared], None] | None = None,
    init: InitialWeights | None = None,
    minutes: float | None = None,
    began: float | None = None,
    snapshots: Snapshots | None = None,
    keep_texts: bool = False,
    worded: Callable[[Any], Any] | None = None,
    watch: Callable[[Observer], Observer] | None = None,
    processes: Processes = ALONE,
) -> TrainedModel:
    """Split, learn a vocabulary, encode, train and calibrate. With `out`, write a model folder there.

    With the recipe section `[pretraining]`, the model is pre-trained on its own texts first (see `pretrain.py`).

    Args:
        family: the kind of answer to learn: a folder of `targets/`.
        source: where `sources` was read from. The model folder keeps it, so the rows can be found again.
        resume: continue the unfinished run in `out`. Data and recipe must be the same as before.
        init: the weights to start from, with which `recipe` was loaded. Their tokenizer is used as it is.
        minutes: the time for the whole run. The run then decides what it does: at most pre-training and the whole
            `recipe` (see `time_plan.py`).
        began: when they began to count, by `time.perf_counter`. None means now.
        snapshots: takes snapshots of the transformer, and makes a time-lapse of them. With `out`, it is written into
            the model folder, and shows a few texts of the held-out rows.
        keep_texts: keep the training texts, so that those nearest to a text can be shown. Whoever has the model folder
            can then read them.
        worded: with it, the model folder gets a report of the held-out rows. The report shows the figures as this
            function returns them, which may write settings as flags.
        watch: returns the observer of the training whose epochs the model keeps in its history, given another observer.
        processes: the processes that train together. Each of them calls this function, with the same arguments. The one
            that leads writes the model folder.

    Raises:
        UsageError: the data cannot be learned from, `out` is in use already, there is nothing to take snapshots of, or
            the design makes no vectors of texts to keep.
        InterruptedTraining: on Ctrl-C; `out` can be resumed.
        LostProcessError: another process ended too early; `out` can be resumed if it had begun to train.
        NotANumberError: training diverged; the best weights so far, if any, are in `out`.
    """
    observer, clock = observer or Silent(), time.perf_counter() if began is None else began
    if not resume:  # a run that has begun keeps all that it needs of a body
        check_body_exists(recipe.model)
    work = None if out is None else out / CHECKPOINT_FOLDER
    way = part(family, "training")
    prepared = way.prepare(sources, recipe, init=init, device=device, work=work, minutes=minutes, processes=processes)
    shots = snapshots if processes.leads else None
    kept = Kept(source=source, out=out, snapshots=shots, texts=keep_texts, worded=worded, watch=watch)
    with work_in(out, identity_of(prepared), resume=resume, overwrite=overwrite, processes=processes):
        trained: TrainedModel = train_prepared(prepared, kept, clock, observer, on_prepared, resume=resume)
    way.warn(trained, prepared.splits, observer)
    return trained


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is kept of a run besides the model: see the arguments of `train_model`."""

    out: Path | None
    source: SourceConfig | None = None
    snapshots: Snapshots | None = None
    texts: bool = False
    worded: Callable[[Any], Any] | None = None
    watch: Callable[[Observer], Observer] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Ended:
    """A run after its last step.

    Attributes:
        source: where the rows were read from. None if they came from memory.
        crossed: what cross-fitting found.
        pretraining: the record of pre-training. Empty if there was none.
    """

    trainer: Trainer[nn.Module]
    prepared: Prepared
    source: SourceConfig | None
    learned: LearnedReaders | None
    crossed: Crossed | None
    pretraining: dict[str, Any]

    @cached_property
    def transformer(self) -> FloatArray | None:
        """The scores (rows, width) of the transformer for the held-out rows. None if it gave none."""
        store, recipe = self.prepared.data.validation, self.prepared.recipe
        if store is None or recipe.training.without_transformer:
            return None if self.crossed is None else self.crossed.logits
        window, width = recipe.model.max_seq_len, len(self.prepared.labels.names)
        return score(self.trainer.model, store, max_seq_len=window, n_classes=width)

    @cached_property
    def seen(self) -> tuple[Seen | None, dict[str, Any]]:
        """The words of the training rows, and the figures of the held-out rows that depend on them."""
        if not self.prepared.recipe.training.keep_seen_words:
            return None, {}
        seen, unseen = learn_seen(self.prepared.splits.train, self.prepared.splits.validation)
        return seen, unseen_figures(unseen, seen.config.threshold)


def train_prepared(
    prepared: Prepared,
    kept: Kept,
    clock: float,
    observer: Observer,
    on_prepared: Callable[[Prepared], None] | None,
    *,
    resume: bool,
) -> Any:
    """Do all of a run that may be interrupted: what comes before its first step, its steps, and writing the model."""
    prepared = with_drift(prepared)
    begun = resume and prepared.work is not None and (prepared.work / STATE_FILE).is_file()
    with leader_first(prepared.processes):
        origin = prepared.origin  # first: a design that does not fit is refused before the texts are encoded
        if kept.snapshots is not None:
            kept.snapshots.check(prepared)
        if kept.texts:
            check_has_vectors(prepared.model)
        train = prepared.data.train
    if on_prepared:
        on_prepared(prepared)
    notes = () if prepared.own_texts is None else prepared.own_texts.unlabelled.notes
    for said in () if begun else filter(None, (origin, *notes)):
        observer.on_message(said)
    warning, is_only = _of_unknown(train, learned=prepared.init is None), not prepared.recipe.model.beside
    if warning and is_only:
        observer.on_message(warning)
    with fitting_threads(prepared, observer):
        trained = _trained(prepared, kept, clock, observer, begun=begun, resume=resume)
    if warning and not is_only and TRANSFORMER in trained.config.asked:  # it concerns no other reader
        observer.on_message(warning)
    return trained


def _trained(prepared: Prepared, kept: Kept, clock: float, observer: Observer, *, begun: bool, resume: bool) -> Any:
    """Train, and write the model. The readers are weighed by held-out rows."""
    way = part(prepared.family, "training")
    with leader_first(prepared.processes):
        learned = learn_readers(prepared, way.lessons, observer)
    prepared, planned = plan_time(prepared, learned, clock, observer)
    prepared, pretraining = pretrain_on_own_texts(prepared, observer)
    weighed = {} if learned is None or prepared.splits.validation is None else learned.weighed
    trainer = trainer_of(prepared, observer, list(weighed.values()))
    crossed = _crossed(prepared, learned, trainer, kept, way.gain, begun=begun)
    if kept.watch is not None:
        trainer.observer = kept.watch(trainer.observer)
    if kept.snapshots is not None:
        kept.snapshots.begin(prepared, trainer)

    ended = Ended(
        trainer=trainer,
        prepared=prepared,
        source=kept.source,
        learned=learned,
        crossed=crossed,
        pretraining=pretraining,
    )

    def save() -> Any:
        trained, held_out = way.finish(ended)
        trained.metrics.update({"time_plan": planned} if planned else {})
        trained.metrics.update({"drift": prepared.drift.model_dump()} if prepared.drift else {})
        if kept.texts:
            observer.on_message("keeping the training texts: whoever has the model can read them")
            trained = with_training_texts(trained, prepared)
        if kept.out is not None and prepared.processes.leads:
            report = None
            if held_out is not None and kept.worded is not None:
                report = training_page(trained, held_out, prepared, kept.out, kept.worded, texts=kept.texts)
            save_model(kept.out, trained, card=model_card(trained), report=report)
        if kept.snapshots is not None:
            kept.snapshots.end(kept.out)
        return trained

    return run_to_end(trainer, kept.out, resume=resume, save=save)


def with_training_texts(trained: TrainedModel, prepared: Prepared) -> TrainedModel:
    """Return the model with its training texts, their labels and vectors. Validation rows are not among them."""
    frame = prepared.splits.train.frame
    texts = tuple(frame["text"])
    trained.model.to(prepared.device)
    vectors = unit_vectors(trained, texts)
    trained.model.cpu()
    kept = partial(
        KeptTexts,
        rows=tuple(frame["row"]),
        texts=texts,
        labels=tuple(frame["label"].to_list()),
        vectors=vectors,
    )
    return replace(trained, kept=kept)


def _of_unknown(train: TokenStore, *, learned: bool) -> str | None:
    """Return a warning if the transformer reads many tokens as unknown."""
    parts = np.array_split(train.tokens, -(-len(train.tokens) // _TOKENS_AT_ONCE) or 1)
    unknown = sum(np.count_nonzero(part == UNKNOWN_ID) for part in parts) / max(1, len(train.tokens))
    if unknown <= _MANY_UNKNOWN:
        return None
    if learned:
        return (
            f"warning: {unknown:.0%} of the training tokens occur too seldom to be in the vocabulary and are read as "
            "unknown; try `tokenizer.min_frequency=1`, or `tokenizer.kind='character'` for names and codes"
        )
    return (
        f"warning: {unknown:.0%} of the training tokens are not in the vocabulary that the weights came with and "
        "are read as unknown; other weights, or none, may suit these texts better"
    )


def _crossed(
    prepared: Prepared,
    learned: LearnedReaders | None,
    trainer: Trainer[nn.Module],
    kept: Kept,
    gain: Gain,
    *,
    begun: bool,
) -> Crossed | None:
    """Cross-fit if no rows are held out for the weights of the readers: see `cross_fit`.

    A transformer that will not be asked is trained on all rows only for the snapshots of it.
    """
    if learned is None or prepared.splits.validation is not None or prepared.recipe.training.without_transformer:
        return None
    if not begun:
        trainer.try_to_save()  # from here on, the run can be resumed
    observer, trainings = trainer.observer, len(learned.folds) + 1
    crossed = cross_fit(prepared, learned, observer, gain)
    (shown,) = prepared.processes.agree(float(kept.snapshots is not None))
    if crossed.broken is not None and not shown:
        trainer.end()
        return crossed
    observer.on_message(f"cross-fitting: training {trainings} of {trainings}, on all rows")
    trainer.observer = OneOfSeveral(observer, trainings, trainings)
    return crossed


def identity_of(prepared: Prepared) -> dict[str, Any]:
    """Return the values that must not change between a run and its continuation."""
    train, validation = prepared.splits.train, prepared.splits.validation
    replayed = {} if prepared.learned is train else {"replayed": fingerprint(prepared.learned)}
    order = {"order": " < ".join(prepared.labels.names)} if prepared.labels.ordered else {}
    model = prepared.recipe.model
    return (
        replayed
        | order
        | content_of_readers(model)
        | {
            "train": fingerprint(train),
            "validation": None if validation is None else fingerprint(validation),
            "groups": _digest(train, "group"),
            "weights": _digest(train, "weight"),
            "labels": list(prepared.labels.names),
            "recipe": prepared.recipe,
            "init": None if prepared.init is None else prepared.init.record,
            "unlabelled": None if prepared.own_texts is None else prepared.own_texts.unlabelled.fingerprint,
            "minutes": prepared.minutes,
        }
    )


def _digest(table: Table, column: str) -> str | None:
    """Return the SHA-256 (hex) of a column, or None if the table does not have it."""
    if column not in table.frame.columns:
        return None
    return hashlib.sha256(json.dumps(table.frame[column].to_list()).encode()).hexdigest()


def finished_model(
    run: Ended,
    *,
    target: Target,
    readers: Readers | None,
    metrics: dict[str, Any],
) -> TrainedModel:
    """Return the model as the model folder will hold it."""
    prepared, state, learned, seen = run.prepared, run.trainer.state, run.learned, run.seen[0]
    recipe, init, pretraining = prepared.recipe, prepared.init, run.pretraining
    seconds = state.seconds + (learned.seconds if learned else 0) + (run.crossed.seconds if run.crossed else 0)
    own: dict[str, Any] = {"pretraining": pretraining} if pretraining else {}
    if learned is not None and prepared.own_texts is not None and has_own_vectors(learned.fitted):
        own |= {"body": prepared.own_texts.record}
    if doubts := [doubt for each in (learned.fitted if learned else {}).values() for doubt in each.doubts]:
        own |= {"encoder_doubts": doubts}
    config = FolderConfig(
        model=recipe.model,
        vocab_size=prepared.tokenizer.vocab_size,
        tokenizer=recipe.tokenizer,
        target=target,
        readers=readers,
        unlike=None if seen is None else seen.config,
        inputs=prepared.splits.train.inputs,
        data=_data_record(prepared.splits, run.source) | prepared.record | own,
        init=None if init is None else init.record,
        new_words=() if init is None else init.new_words,
        recipe=recipe.model_dump(mode="json"),
        **made_now(seconds + pretraining.get("seconds", 0)),
    )
    return TrainedModel(
        config=config,
        model=run.trainer.model.cpu().eval(),
        tokenizer=prepared.tokenizer,
        metrics=state.metrics() | metrics,
        readers={} if learned is None else learned.kept(readers),
        seen=seen,
    )


def _data_record(splits: Splits, source: SourceConfig | None) -> dict[str, Any]:
    train, validation = splits.train, splits.validation
    return {
        "source": train.source,
        "read_as": None if source is None else source.model_dump(mode="json"),
        "text_column": train.text_column,
        "label_column": train.label_column,
        "rows": train.frame.height,
        "validation_rows": 0 if validation is None else validation.frame.height,
        "fingerprint": fingerprint(train),
        "dropped": [
            {"source": table.source, "reason": each.reason, "count": len(each.rows), "rows": each.rows[:20]}
            for table in splits.tables
            for each in table.dropped
        ],
        "notes": list(splits.notes),
    }
