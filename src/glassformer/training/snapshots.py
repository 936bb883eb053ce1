"""Take snapshots of a transformer while it is trained, for the time-lapse of `tracing/time_lapse.py`."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from torch import nn

from glassformer.data.arrays import Array, IntArray
from glassformer.data.checksums import load_arrays, save_arrays
from glassformer.data.input_layout import Layout, tokens_written
from glassformer.data.store import TokenStore
from glassformer.data.table import Table
from glassformer.data.tokenizers import TextTokenizer
from glassformer.errors import UsageError
from glassformer.models.parts import embedding_table
from glassformer.tracing.snapshot import Sample, ShownText, Snapshot, Subject, attention_taps, take
from glassformer.tracing.time_lapse import TimeLapse, time_lapse
from glassformer.training.loop import StepReport, Trainer
from glassformer.training.preparation import Prepared

DEFAULT_NUMBER, _LEAST, _MOST = 12, 2, 100
_FILE = "snapshots.safetensors"
_TEXTS, _SHORTEST, _LONGEST = 4, 6, 24
"""How many texts are shown, and their tokens if there are such texts. Longer ones are cut."""
_CANDIDATES, _MEASURED = 10_000, 100
"""The rows that texts are chosen from, and the rows that a loss is measured on."""
_WORDS = 80
_TOKENS_AT_ONCE = 1_000_000


class Snapshots:
    """Takes snapshots of one training: before its first step, then ever less often, and after its last step.

    It stands before the observer of the trainer, and passes everything on. Training is the same with and without it,
    except that a budget in seconds includes the time of the snapshots.

    Attributes:
        time_lapse: all snapshots together, once the run has ended. None if no transformer was trained.
    """

    def __init__(self, number: int = DEFAULT_NUMBER) -> None:
        """Take this many snapshots. Raises `UsageError` if that is not a number from 2 to 100."""
        if not isinstance(number, int) or isinstance(number, bool) or not _LEAST <= number <= _MOST:
            raise UsageError(f"snapshots={number!r}: give a whole number from {_LEAST} to {_MOST}")
        self._number = number
        self.time_lapse: TimeLapse | None = None

    @staticmethod
    def check(prepared: Prepared) -> None:
        """Raise `UsageError` if the recipe trains no transformer, or its design has nothing to show."""
        if prepared.recipe.training.without_transformer:
            raise UsageError(
                "`snapshots=` shows a transformer while it learns, and `training.epochs=0` trains none; leave one out"
            )
        model = prepared.model
        if not attention_taps(model) and embedding_table(model) is None:
            raise UsageError(
                f"`snapshots=`: the design {type(model).__name__} has neither learned embeddings nor attention weights "
                "to show; leave it out"
            )

    def begin(self, prepared: Prepared, trainer: Trainer[nn.Module]) -> None:
        """Take the first snapshot, and listen to the trainer. A resumed run keeps the snapshots that it has taken."""
        self._observer, self._trainer = trainer.observer, trainer
        if prepared.recipe.training.without_transformer:
            self.on_message("no snapshots: this run trains no transformer")
            return
        model = trainer.model
        self._file = None if prepared.work is None else prepared.work / _FILE
        self._warned = False
        self._subject = _subject(prepared, with_words=embedding_table(model) is not None)
        first = take(model, self._subject, step=0, done=0.0)
        self._taken = _kept(self._file, first) or [first]
        trainer.observer = self

    def end(self, folder: Path | None) -> None:
        """Make the time-lapse of the snapshots, and write it into the model folder if there is one."""
        if self._trainer.observer is not self:
            return
        best = self._trainer.state.metrics()["best"]
        self.time_lapse = time_lapse(self._subject, self._taken, kept_step=int(best.get("step", 0)))
        if folder is not None:
            self.time_lapse.save(folder)

    def on_step(self, report: StepReport) -> None:
        step = self._trainer.state.step
        self._taken = [snapshot for snapshot in self._taken if snapshot.step < step]  # the run may be a resumed one
        if self._due(report.done) > self._due(self._taken[-1].done):
            self._take(step, report.done)
        self._observer.on_step(report)

    def on_epoch(self, row: dict[str, float]) -> None:
        self._observer.on_epoch(row)

    def on_message(self, text: str) -> None:
        self._observer.on_message(text)

    def _due(self, done: float) -> int:
        """Return how many snapshots are due after the first. They lie closer together at the start."""
        return int(math.sqrt(done) * (self._number - 1) + 1e-9)

    def _take(self, step: int, done: float) -> None:
        snapshot = take(self._trainer.model, self._subject, step=step, done=done)
        if not snapshot.finite:  # training is about to stop
            return
        self._taken.append(snapshot)
        if self._file is None:
            return
        try:
            _keep(self._file, self._taken)
        except (SafetensorError, OSError) as error:
            if not self._warned:
                self.on_message(f"warning: the snapshots could not be saved ({error}). Training continues")
            self._warned = True


def _subject(prepared: Prepared, *, with_words: bool) -> Subject:
    """Choose what the snapshots look at. The same data and recipe always give the same."""
    splits, data, tokenizer = prepared.splits, prepared.data, prepared.tokenizer
    window = prepared.recipe.model.max_seq_len
    samples = {"training rows": _sample(data.train, data.train_labels)}
    table, store = prepared.learned, data.train
    if splits.validation is not None and data.validation is not None and data.validation_labels is not None:
        samples["held-out rows"] = _sample(data.validation, data.validation_labels)
        table, store = splits.validation, data.validation
    return Subject(
        source=table.source,
        held_out=splits.validation is not None,
        texts=tuple(_shown(table, row, tokenizer, window) for row in _chosen(table, store.lengths)),
        words=_frequent_words(data.train, tokenizer) if with_words else {},
        samples=samples,
        labels=tuple(map(str, prepared.labels.names)),
        multilabel=prepared.labels.multilabel,
        max_seq_len=window,
        scored=prepared.scored,
    )


def _spread(rows: int, most: int) -> list[int]:
    """Return at most this many row numbers, evenly spread over the table."""
    return np.linspace(0, rows - 1, min(rows, most)).astype(int).tolist()


def _sample(store: TokenStore, labels: Array) -> Sample:
    rows = _spread(len(store), _MEASURED)
    texts = [np.array(store.tokens[store.offsets[row] : store.offsets[row + 1]], np.int64) for row in rows]
    return Sample(store=TokenStore.in_memory(texts), labels=labels[rows])


def _chosen(table: Table, lengths: IntArray) -> list[int]:
    """Choose rows of a length that fits, of each label in turn, no text twice."""
    texts = table.frame["text"].to_list()
    labels = _labels(table)

    def misfit(length: int) -> int:
        return max(0, length - _LONGEST, _SHORTEST - length)

    rows, found, times = _spread(len(texts), _CANDIDATES), list[int](), Counter[tuple[str, ...]]()
    for _ in range(_TEXTS):
        rows = [row for row in rows if all(texts[row] != texts[other] for other in found)]
        if not rows:
            break
        found.append(min(rows, key=lambda row: (times[labels[row]], misfit(int(lengths[row])), row)))
        times[labels[found[-1]]] += 1
    return found


def _labels(table: Table) -> list[tuple[str, ...]]:
    values = table.frame["label"].to_list()
    return [tuple(value) if isinstance(value, list) else (value,) for value in values]


def _shown(table: Table, row: int, tokenizer: TextTokenizer, window: int) -> ShownText:
    text = table.frame["text"][row]
    ids, spans = tokenizer.encode_with_offsets(text)
    length = min(len(ids), _LONGEST, window - 1)
    return ShownText(
        row=int(table.frame["row"][row]),
        labels=_labels(replace(table, frame=table.frame[row]))[0],
        token_ids=np.array(ids[:length], np.int64),
        tokens=("(start)", *tokens_written(text, Layout.of(text, table.inputs), spans[:length])),
        cut=length < len(ids),
    )


def _frequent_words(store: TokenStore, tokenizer: TextTokenizer) -> dict[str, int]:
    """Return the words with a letter that occur most often, each with its token."""
    counts = np.zeros(tokenizer.vocab_size, np.int64)
    for start in range(0, len(store.tokens), _TOKENS_AT_ONCE):
        counts += np.bincount(store.tokens[start : start + _TOKENS_AT_ONCE], minlength=len(counts))
    words = {word: id_ for word, id_ in tokenizer.words().items() if counts[id_] and any(map(str.isalpha, word))}
    return dict(sorted(words.items(), key=lambda item: (-counts[item[1]], item[1]))[:_WORDS])


def _keep(file: Path, snapshots: list[Snapshot]) -> None:
    """Write the snapshots of an unfinished run."""
    arrays = {}
    for number, snapshot in enumerate(snapshots):
        arrays[f"{number}.logits"], arrays[f"{number}.embeddings"] = snapshot.logits, snapshot.embeddings
        arrays |= {f"{number}.attention.{text}": maps for text, maps in enumerate(snapshot.attention)}
    numbers = [{"step": each.step, "done": each.done, "losses": dict(each.losses)} for each in snapshots]
    save_arrays(file, arrays, numbers)


def _kept(file: Path | None, first: Snapshot) -> list[Snapshot]:
    """Return what `_keep` wrote, or nothing if it is missing, damaged, or not like the first snapshot of this run."""
    kept = load_arrays(file)
    if kept is None:
        return []
    arrays, numbers = kept
    try:
        snapshots = [
            Snapshot(
                **numbers[number],
                logits=arrays[f"{number}.logits"],
                embeddings=arrays[f"{number}.embeddings"],
                attention=tuple(arrays[f"{number}.attention.{text}"] for text in range(len(first.attention))),
            )
            for number in range(len(numbers))
        ]
    except (KeyError, TypeError):
        return []
    if not all(_is_like(snapshot, first) for snapshot in snapshots):
        return []
    steps = [snapshot.step for snapshot in snapshots]
    return snapshots if steps[:1] == [0] and steps == sorted({*steps}) else []


def _is_like(snapshot: Snapshot, first: Snapshot) -> bool:
    """Whether a snapshot that was read has numbers wherever the first one of this run has them."""
    losses = snapshot.losses if isinstance(snapshot.losses, dict) else {}
    numbers, known = ([each.logits, each.embeddings, *each.attention] for each in (snapshot, first))
    return (
        isinstance(snapshot.step, int)
        and isinstance(snapshot.done, float)
        and 0 <= snapshot.done <= 1
        and losses.keys() == first.losses.keys()
        and all(isinstance(loss, float) for loss in losses.values())
        and all(
            one.shape == other.shape and one.dtype == other.dtype for one, other in zip(numbers, known, strict=True)
        )
        and snapshot.finite
    )
