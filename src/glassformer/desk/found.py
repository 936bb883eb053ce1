"""What a person should know about the texts of a table before labelling them."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import polars as pl

from glassformer.audit.patterns import personal_data
from glassformer.data.languages import in_words, languages_of
from glassformer.data.wording import counted
from glassformer.desk.labelling import Labelling
from glassformer.labels.repeats import Repeats

_MOST = 10_000  # texts that are looked through for near repeats and personal data, which take a second
_SCRIPTS = (
    "Latin",
    "Cyrillic",
    "Greek",
    "Arabic",
    "Hebrew",
    "Devanagari",
    "Thai",
    "Han",
    "Hiragana",
    "Katakana",
    "Hangul",
)


def described(texts: pl.DataFrame, labelling: Labelling) -> list[str]:
    """Return sentences about the texts: lengths, writing, repeats, personal data, and the labels that they came with.

    Args:
        texts: the columns text and label.
        labelling: the kind of the labels.
    """
    column = texts["text"]
    lengths = column.str.len_chars().to_numpy()
    half, long = np.quantile(lengths, [0.5, 0.95]).astype(int)
    said = [
        f"{counted(len(column), 'text')}; half of them have {half:,} characters or less, one in twenty has more than "
        f"{long:,}",
        "; ".join(filter(None, [f"written in {_scripts(column)} letters", in_words(languages_of(column))])),
        *_repeats(column),
        *_personal(column),
    ]
    if labels := len(given := texts["label"].drop_nulls()):
        classes = len({name for cell in given.unique() for name in labelling.classes_of(cell)})
        of_classes = f": {counted(classes, 'class', 'classes')}" if classes else ""
        said.append(f"{counted(labels, 'text has', 'texts have')} a label already{of_classes}")
    return said


def _scripts(texts: pl.Series) -> str:
    """Return in which letters at least one text in a hundred is written, the most frequent first."""
    shares = {name: float((texts.head(_MOST).str.contains(rf"\p{{{name}}}")).mean() or 0) for name in _SCRIPTS}  # type: ignore[arg-type]
    used = sorted((name for name in _SCRIPTS if shares[name] >= 0.01), key=lambda name: -shares[name])
    return ", ".join(used) or "no"


def _repeats(texts: pl.Series) -> list[str]:
    said = []
    if repeated := len(texts) - texts.n_unique():
        said.append(f"{counted(repeated, 'text repeats', 'texts repeat')} another one")
    near = len(np.unique(Repeats.of(texts.head(_MOST).to_list()).pairs.second))
    if near:
        said.append(f"{counted(near, 'text is', 'texts are')} nearly the same as an earlier one{_of(texts)}")
    return said


def _personal(texts: pl.Series) -> list[str]:
    kinds = Counter(kind for text in texts.head(_MOST) for kind in {match.kind for match in personal_data(text)})
    listed = ", ".join(f"{kind} in {count:,}" for kind, count in islice(kinds.most_common(), 4))
    return [f"what looks like personal data{_of(texts)}: {listed}"] if kinds else []


def _of(texts: pl.Series) -> str:
    return f", among the first {_MOST:,}" if len(texts) > _MOST else ""
