"""Checks of the data before any training: labels, lengths, unknown words, duplicates, size."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from glassformer.data.arrays import IntArray
from glassformer.data.labels import LabelSet, conflicting_rows
from glassformer.data.languages import in_words, languages_of
from glassformer.data.spellings import stand_ins, table_spellings
from glassformer.data.splits import Splits
from glassformer.data.store import TokenStore
from glassformer.data.table import Table, row_list, text_keys
from glassformer.data.tokenizers import UNKNOWN_ID, TextTokenizer, TokenizerConfig
from glassformer.data.wording import counted, listed
from glassformer.doctor.findings import Finding, Histogram, Level, percent
from glassformer.training.training_config import TrainingConfig

_LARGE_MAJORITY, _HUGE_MAJORITY = 0.7, 0.9
_UNEVEN = 3  # ratio of the largest class to the smallest
_FEW_ROWS = 10
_SOME_LONG = 0.05
_SOME_UNKNOWN, _MANY_UNKNOWN = 0.05, 0.25
_SOME_DUPLICATES, _SOME_CONFLICTS = 0.01, 0.05
_MANY_PARAMETERS = 100  # per token of the training texts
_MOST_TEXTS = 2_000  # texts that are searched for unknown words
_BARS = 24
_WEIGH = "try `training.class_weights='balanced'`"  # which the transformer alone follows


def check_labels(labels: LabelSet, encoded: np.ndarray, config: TrainingConfig) -> list[Finding]:
    """Judge the balance: the accuracy of a constant answer, and classes with few rows."""
    if labels.multilabel:
        return _check_label_sets(labels, encoded, config)
    counts = np.bincount(encoded, minlength=len(labels.names))
    largest, smallest = int(counts.argmax()), int(counts.argmin())
    majority = counts[largest] / counts.sum()
    found = (
        f"{len(labels.names):,} labels; always answering {labels.names[largest]!r} is right for {percent(majority)} of "
        f"the training rows; the rarest label is {labels.names[smallest]!r} ({counted(int(counts[smallest]), 'row')})"
    )
    level: Level
    uneven = majority > _LARGE_MAJORITY or counts[largest] > _UNEVEN * counts[smallest]
    weighted = config.class_weights != "none"
    level, advice = "good", ""
    if uneven:
        level = "problem" if majority >= _HUGE_MAJORITY and not weighted else "worth knowing"
        advice = (
            f"compare the accuracy with these {percent(majority)}, and look at macro F1 and the recall of each class"
        )
        advice += "" if weighted or config.without_transformer else f"; {_WEIGH}"
    return [Finding(check="label balance", level=level, found=found, advice=advice), *_rare_labels(labels, counts)]


def _check_label_sets(labels: LabelSet, encoded: np.ndarray, config: TrainingConfig) -> list[Finding]:
    counts, none = encoded.sum(axis=0, dtype=np.int64), float((encoded.sum(axis=1) == 0).mean())
    shares = counts / len(encoded)
    found = (
        f"{counted(len(labels.names), 'label')}, on {percent(shares.min())} to {percent(shares.max())} of the texts; "
        f"{encoded.sum() / len(encoded):.2f} labels per text; {percent(none)} of the texts have none"
    )
    uneven = shares.max() > _LARGE_MAJORITY or counts.max() > _UNEVEN * max(counts.min(), 1)
    advice = "look at the recall of each label" if uneven else ""
    advice += "" if not uneven or config.without_transformer else f"; {_WEIGH}"
    level: Level = "worth knowing" if uneven else "good"
    return [Finding(check="label balance", level=level, found=found, advice=advice), *_rare_labels(labels, counts)]


def check_spellings(table: Table) -> list[Finding]:
    several = table_spellings(table)
    advice = "join them if they mean the same, in `train` too"
    return [Finding(check="spelling of labels", level="problem", found=several, advice=advice)] if several else []


def check_stand_ins(table: Table) -> list[Finding]:
    """Report texts and labels such as `n/a`, which may mean a missing value."""
    return [Finding(check="no value", level="worth knowing", found=note) for note in stand_ins(table)]


def check_languages(table: Table) -> list[Finding]:
    shares = languages_of(table.frame["text"])
    if not shares:
        return []
    level: Level = "good" if len(shares) == 1 else "worth knowing"
    advice = "" if len(shares) == 1 else "a class in one of them alone is told by its language; keep test rows of each"
    return [Finding(check="language", level=level, found=in_words(shares), advice=advice)]


def _rare_labels(labels: LabelSet, counts: np.ndarray) -> list[Finding]:
    rare = [repr(name) for name, count in zip(labels.names, counts, strict=True) if count < _FEW_ROWS]
    if not rare:
        return []
    return [Finding(
        check="rare labels",
        level="worth knowing",
        found=f"labels with fewer than {_FEW_ROWS} training rows: {len(rare):,} ({listed(rare, 5)})",
        advice="so few rows are not enough to learn or measure a label; collect more, or merge it with another label",
    )]  # fmt: skip


def check_lengths(
    lengths: IntArray, max_seq_len: int, padding: float, *, widest: int | None = None
) -> tuple[Finding, Histogram]:
    """Compare the number of tokens per text with the window. The start token takes one place of the window.

    Args:
        widest: the window of the weights to start from, or None without such weights.
    """
    room = max_seq_len - 1
    longer, median = float((lengths > room).mean()), float(np.median(lengths))
    ordinary, longest = float(np.quantile(lengths, 0.95)), int(lengths.max())
    seen = np.minimum(lengths, room).sum() / max(1, lengths.sum())
    fit = counted(room, "token that fits", "tokens that fit")
    found = (
        f"{percent(longer)} of the texts are longer than the {fit} into the window "
        f"(median {median:g}, 95% at most {ordinary:g}, longest {longest:,}); the model sees {percent(seen)} of all "
        f"tokens per epoch; {percent(padding)} of a batch is padding"
    )
    advice = ""
    if longer > _SOME_LONG:
        better = min(1 << math.ceil(math.log2(max(ordinary, max_seq_len) + 1)), widest or math.inf)
        wider = "these weights cannot read a longer window"
        if better > max_seq_len:
            wider = (
                f"raise the window (`model.max_seq_len={better}`) if the words that matter may be anywhere in the text"
            )
        advice = f"training reads one random window of a long text per epoch, and prediction averages over all; {wider}"
    level: Level = "good" if longer <= _SOME_LONG else "problem" if median > room else "worth knowing"
    cut = max(1, int(np.quantile(lengths, 0.99)) + 1)
    counts, edges = np.histogram(np.minimum(lengths, cut), bins=min(_BARS, cut), range=(0, cut))
    histogram = Histogram(edges=tuple(edges.tolist()), counts=tuple(counts.tolist()))
    return Finding(check="length of texts", level=level, found=found, advice=advice), histogram


def check_unknown(
    tokenizer: TextTokenizer,
    config: TokenizerConfig,
    train: TokenStore,
    held_out: Table | None,
    rows: IntArray,
    *,
    learned: bool = True,
    is_only: bool = True,
) -> Finding:
    """Measure the share of unknown tokens in held-out texts, from which the vocabulary was not learned.

    Args:
        is_only: whether the transformer has no other reader beside it. Others do not read its tokens.
        learned: whether the vocabulary was learned from the training rows. If not, it came with the weights.
    """
    own = float((train.tokens == UNKNOWN_ID).mean()) if len(train.tokens) else 0.0
    check = "unknown words"
    if held_out is None:
        share, shown = own, ""
        found = f"{percent(own)} of the training tokens are unknown. No rows are held out to measure it on new texts"
    else:
        texts = held_out.frame["text"][rows].to_list()
        store = TokenStore.in_memory(tokenizer.encode(texts))
        share = float((store.tokens == UNKNOWN_ID).mean()) if len(store.tokens) else 0.0
        frequent = Counter(word.lower() for text in texts[:_MOST_TEXTS] for word in tokenizer.unknown_words(text))
        shown = ", ".join(f"{word[:24]!r} ({count})" for word, count in frequent.most_common(8))
        found = (
            f"{percent(share)} of the tokens of held-out texts are unknown, and {percent(own)} of the training "
            f"tokens; the vocabulary has {counted(tokenizer.vocab_size, 'entry', 'entries')} and "
            f"{'was learned from the training rows' if learned else 'came with the weights'}"
        )
    found += f"; most frequent: {shown}" if shown else ""
    if share <= _SOME_UNKNOWN:
        return Finding(check=check, level="good", found=found)
    level: Level = "problem" if share > _MANY_UNKNOWN and is_only else "worth knowing"
    only = "" if is_only else "if the transformer answers, "
    if not learned:
        advice = f"{only}other weights, or training from scratch, may suit these texts better"
        return Finding(check=check, level=level, found=found, advice=advice)
    full = config.kind != "byte" and tokenizer.vocab_size >= config.vocab_size
    larger = f"more entries than {config.vocab_size:,} (`tokenizer.vocab_size=`), " if full else ""
    pieces = "pieces of words" if config.kind == "word" else "pieces of bytes"
    advice = f"{only}try {larger}{pieces} (`tokenizer.kind='bpe'`, which knows every word)" + (
        " or `tokenizer.min_frequency=1`" if config.min_frequency > 1 else ""
    )
    return Finding(check=check, level=level, found=found, advice=advice)


def check_rows(table: Table, splits: Splits, target: str = "label") -> list[Finding]:
    """Report duplicate texts, texts with different labels, and rows that are left out.

    Args:
        target: "number" if a number is learned. Texts may well have several of them.
    """
    height = table.frame.height
    repeated = height - text_keys(table.frame["text"]).n_unique()
    conflicts = conflicting_rows(table)
    clashing = sum(map(len, conflicts))
    repeat = "repeats" if repeated == 1 else "repeat"
    found = f"{repeated:,} of {height:,} rows {repeat} the text of another row" if repeated else "no text occurs twice"
    findings = [Finding(
        check="duplicates",
        level="worth knowing" if repeated > _SOME_DUPLICATES * height else "good",
        found=found,
        advice="training uses every copy, except copies of held-out texts" if repeated else "",
    )]  # fmt: skip
    if clashing:
        examples = "; ".join(row_list(rows) for rows in conflicts[:3])
        occur = counted(len(conflicts), "text occurs", "texts occur")
        findings.append(Finding(
            check=f"conflicting {target}s",
            level="problem" if clashing > _SOME_CONFLICTS * height and target == "label" else "worth knowing",
            found=f"{occur} with different {target}s, so no model can get all {clashing:,} rows right ({examples}"
            f"{'; …' if len(conflicts) > 3 else ''})",
            advice="correct or remove these rows; `glassformer labels` lists them",
        ))  # fmt: skip
    left_out = {(dropped.reason, tuple(dropped.rows)) for part in splits.tables for dropped in part.dropped}
    if left_out:
        listed = "; ".join(f"{len(rows):,} × {reason} ({row_list(list(rows))})" for reason, rows in sorted(left_out))
        findings.append(Finding(check="left out", level="worth knowing", found=f"rows that are not used: {listed}"))
    return findings


def check_size(
    rows: int, tokens: int, parameters: int, embedding: int, *, held_out: bool, from_weights: bool = False
) -> Finding:
    """Compare the number of trained values with the number of training tokens.

    Args:
        held_out: whether rows are held out, which show when the model learns rows by heart.
    """
    found = (
        f"{parameters:,} trained values ({percent(embedding / max(parameters, 1))} of them in the embedding table) "
        f"learn from {rows:,} rows with {tokens:,} tokens"
    )
    if parameters > _MANY_PARAMETERS * tokens:
        smaller = "freeze blocks (`training.freeze=`)" if from_weights else "use a smaller model or more dropout"
        trust = "trust only figures on held-out rows"
        if not held_out:
            trust = "trust only what `evaluate` measures on another table, because no rows are held out here"
        advice = f"the model can learn these rows by heart: {smaller}, and {trust}"
        return Finding(check="size", level="worth knowing", found=found, advice=advice)
    return Finding(check="size", level="good", found=found)
