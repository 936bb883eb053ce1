"""The tokenizer report: how texts are cut into tokens, and whether those of one label are cut worse than others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import Array, IntArray
from glassformer.data.inputs import texts_alone
from glassformer.data.labels import LabelSet
from glassformer.data.numbers import numbers_of
from glassformer.data.table import Table
from glassformer.data.tokenizers import CUT_INTO_WORDS, UNKNOWN_ID, TextTokenizer
from glassformer.data.wording import listed
from glassformer.doctor.findings import CutWord, Finding, LabelTokens, TokenReport, percent
from glassformer.evaluation.slices import quarters

_MOST_LABELS, _MOST_WORDS = 20, 10  # that are listed
_MOST_TEXTS = 2_000  # that are searched for cut words
_FEWEST_ROWS = 20  # of a label that may stand out, and of the others
_MORE_UNKNOWN, _MORE_PIECES = 0.05, 1.2  # a smaller difference matters little
_CERTAIN = 3.3  # standard errors: p < .001, as there may be many labels


@dataclass(frozen=True, kw_only=True, eq=False)
class _Counts:
    """Counts of each text: (texts,)."""

    words: Array
    tokens: Array
    unknown: Array
    longer: Array

    def of(self, name: str, rows: Array) -> LabelTokens:
        words, tokens = int(self.words[rows].sum()), int(self.tokens[rows].sum())
        return LabelTokens(
            label=name,
            rows=len(rows),
            words_per_text=words / max(1, len(rows)),
            tokens_per_word=tokens / max(1, words),
            unknown=int(self.unknown[rows].sum()) / max(1, tokens),
            longer=int(self.longer[rows].sum()),
        )


def report_tokens(
    tokenizer: TextTokenizer,
    table: Table,
    rows: IntArray,
    labels: LabelSet | None,
    *,
    max_seq_len: int,
    held_out: bool,
    kind: str = "word",
) -> tuple[TokenReport, Finding]:
    """Measure how texts are cut, for each label and for all.

    Args:
        labels: None if a number is learned. Its quarters are then compared in the place of labels.
    """
    part = table.frame[rows]
    texts = list(map(texts_alone, part["text"]))
    ids = tokenizer.encode(texts)
    counts = _Counts(
        words=np.array([len(CUT_INTO_WORDS.pre_tokenize_str(tokenizer.normalised(text))) for text in texts]),
        tokens=np.array([len(of_text) for of_text in ids]),
        unknown=np.array([int((of_text == UNKNOWN_ID).sum()) for of_text in ids]),
        longer=np.array([len(of_text) > max_seq_len - 1 for of_text in ids]),
    )
    if labels is None:
        of_label = {name: np.flatnonzero(which) for name, which in quarters(numbers_of(table)[rows])}
    else:
        encoded = labels.encode(table)[rows]
        hot = encoded > 0 if encoded.ndim == 2 else encoded[:, None] == np.arange(len(labels.names))
        of_label = {name: np.flatnonzero(column) for name, column in zip(labels.names, hot.T, strict=True)}
    lines = [counts.of(name, found) for name, found in of_label.items() if len(found)]
    standing = [name for name, found in of_label.items() if _stands_out(counts, found, len(texts))]
    report = TokenReport(
        target="number" if labels is None else "label",
        held_out=held_out,
        all_texts=counts.of("all", np.arange(len(texts))),
        labels=tuple(sorted(lines, key=lambda line: (-line.unknown, -line.tokens_per_word))[:_MOST_LABELS]),
        more_labels=max(0, len(lines) - _MOST_LABELS),
        standing_out=tuple(standing),
        cut_words=_cut_words(tokenizer, texts[:_MOST_TEXTS]),
    )
    return report, _judge(report, kind)


def _stands_out(counts: _Counts, rows: Array, texts: int) -> bool:
    """Whether the texts of a label have clearly more unknown tokens, or more tokens per word, than the others."""
    others = np.setdiff1d(np.arange(texts), rows)
    if min(len(rows), len(others)) < _FEWEST_ROWS:
        return False
    unknown = counts.unknown / np.maximum(1, counts.tokens)
    pieces = counts.tokens / np.maximum(1, counts.words)
    return (
        unknown[rows].mean() - unknown[others].mean() > _MORE_UNKNOWN and _certainly_more(unknown, rows, others)
    ) or (pieces[rows].mean() > _MORE_PIECES * pieces[others].mean() and _certainly_more(pieces, rows, others))


def _certainly_more(values: Array, rows: Array, others: Array) -> bool:
    """Compare two means with their standard errors (Welch 1947)."""
    error = np.sqrt(values[rows].var(ddof=1) / len(rows) + values[others].var(ddof=1) / len(others))
    return bool(values[rows].mean() - values[others].mean() > _CERTAIN * error)


def _cut_words(tokenizer: TextTokenizer, texts: Sequence[str]) -> tuple[CutWord, ...]:
    """Return the words that are cut into most tokens, with the number of texts that have them."""
    in_texts = Counter(word for text in texts for word in tokenizer.words_in_pieces(text))
    words = list(in_texts)
    tokens = [len(ids) for ids in tokenizer.encode(words)]
    ordered = sorted(zip(words, tokens, strict=True), key=lambda each: (-each[1], -in_texts[each[0]], each[0]))
    return tuple(CutWord(word=word, tokens=number, texts=in_texts[word]) for word, number in ordered[:_MOST_WORDS])


def _judge(report: TokenReport, kind: str) -> Finding:
    whole, check = report.all_texts, f"tokens by {report.target}"
    rows = "held-out texts" if report.held_out else "training texts"
    found = f"{whole.tokens_per_word:.2f} tokens per word of {rows}"
    if not whole.unknown:
        found += "; none is unknown"
    elif len(report.labels) > 1:
        unknown = [line.unknown for line in report.labels]
        least = "" if report.more_labels else f"{percent(min(unknown))} to "
        found += f"; unknown tokens by {report.target}: {least}{percent(max(unknown))}"
    if not report.standing_out:
        return Finding(check=check, level="good", found=found)
    names = listed([*map(repr, report.standing_out)], 5)
    better = {
        "word": "pieces of words (`tokenizer.kind='bpe'`) know every word",
        "pretrained": "other weights may cut these texts better",
    }
    return Finding(
        check=check,
        level="worth knowing",
        found=f"{found}; the words of {names} are cut or unknown more often than those of other {report.target}s",
        advice=f"look at the errors for these {report.target}s; "
        f"{better.get(kind, 'a larger vocabulary (`tokenizer.vocab_size=`) cuts fewer words')}, and more rows like "
        "these teach their words",
    )
