"""What a person should know about the texts of a table before labelling them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl

from glassformer.audit.patterns import personal_data
from glassformer.data.languages import in_words, languages_of
from glassformer.data.wording import counted
from glassformer.desk.labelling import Labelling
from glassformer.labels.repeats import Repeats

_MOST = 10_000  # texts that are looked through for near repeats and personal data, which take a second
_SCRIPTS = (
    *("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Thai"),
    *("Han", "Hiragana", "Katakana", "Hangul"),
)


def described(texts: pl.DataFrame, labelling: Labelling) -> list[str]:
    """Return sentences about the texts: lengths, writing, repeats, personal data, and the labels that they came with.

    Args:
        texts: the columns text and label.
    """
    column, some = texts["text"], texts["text"].head(_MOST)
    among = f", among the first {_MOST:,}" if len(column) > _MOST else ""
    half, long = np.quantile(column.str.len_chars().to_numpy(), [0.5, 0.95]).astype(int)
    shares = {name: float(some.str.contains(rf"\p{{{name}}}").mean() or 0) for name in _SCRIPTS}  # type: ignore[arg-type]
    used = sorted((name for name in _SCRIPTS if shares[name] >= 0.01), key=lambda name: -shares[name])
    letters = f"written in {', '.join(used) or 'no'} letters"
    said = [
        f"{counted(len(column), 'text')}; half of them have {half:,} characters or less, one in twenty has more than "
        f"{long:,}",
        "; ".join(filter(None, [letters, in_words(languages_of(column))])),
    ]
    if repeated := len(column) - column.n_unique():
        said.append(f"{counted(repeated, 'text repeats', 'texts repeat')} another one")
    if near := len(np.unique(Repeats.of(some.to_list()).pairs.second)):
        said.append(f"{counted(near, 'text is', 'texts are')} nearly the same as an earlier one{among}")
    kinds = Counter(kind for text in some for kind in {match.kind for match in personal_data(text)})
    if listed := ", ".join(f"{kind} in {count:,}" for kind, count in kinds.most_common(4)):
        said.append(f"what looks like personal data{among}: {listed}")
    if labels := len(given := texts["label"].drop_nulls()):
        classes = len({name for cell in given.unique() for name in labelling.classes_of(cell)})
        of_classes = f": {counted(classes, 'class', 'classes')}" if classes else ""
        said.append(f"{counted(labels, 'text has', 'texts have')} a label already{of_classes}")
    return said
