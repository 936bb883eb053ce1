"""Which column holds the text and which the label: asked for, found by name, or found by content."""

import difflib
from dataclasses import dataclass

import polars as pl

from glassformer.errors import UsageError

TEXT_NAMES = (
    *("text", "review", "sentence", "tweet", "content", "comment", "message", "body", "document", "post"),
    *("review_text", "reviewtext", "review_body", "comment_text", "tweet_text", "utterance", "question"),
    *("description", "headline", "title"),
)
LABEL_NAMES = (
    *("label", "labels", "target", "targets", "class", "classes", "category", "sentiment", "polarity", "stars"),
    *("rating", "score", "tag", "tags", "topic", "emotion", "intent", "y"),
)
MOST_CLASSES = 100  # a column with more distinct values is taken for a label only when it is named
CLEARLY = 2.0  # the text column found by content must beat the next one by this factor
WORDS_OF_DATA = 4  # a column name with as many words is taken for a first row of data


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns in use, and how each was found, in plain words."""

    text: str
    label: str | None
    notes: tuple[str, ...]


def find_columns(
    sample: pl.DataFrame, source: str, *, text: str | None, label: str | None, group: str | None, labelled: bool
) -> Columns:
    """Chooses the columns of a table from its first rows; a column that is asked for by name is taken as it is.

    By name, the first of `TEXT_NAMES` and of `LABEL_NAMES` that occurs (in any case) wins. By content, the text is the
    column with clearly the longest, most varied values; the label is the only other column of a two-column table, else
    the only one with few distinct values. Raises `UsageError` when a column is missing, or the choice is not clear.
    """
    for flag, column in {"--text": text, "--label": label, "--group": group}.items():
        if column is not None and column not in sample.columns:
            near = difflib.get_close_matches(column, sample.columns, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"{source} has no column {column!r} ({flag}).{hint} It has:\n{examples(sample)}")
    if text is not None and text == label:
        raise UsageError(f"Column {text!r} cannot be both --text and --label.")

    free = [name for name in sample.columns if name not in (text, label, group)]
    text_by_name = text or _by_name(free, TEXT_NAMES)
    label_by_name = (label or _by_name(free, LABEL_NAMES)) if labelled else None
    found_text = text_by_name or _text_by_content(sample, source, [name for name in free if name != label_by_name])
    others = [name for name in free if name != found_text]
    found_label = label_by_name or (_label_by_content(sample, source, others) if labelled else None)
    _check_header(sample, source, {found_text: text_by_name, found_label: label_by_name})
    if is_opaque(dtype := sample.schema[found_text]):
        raise UsageError(f"{source}: the column {found_text!r} holds {dtype}, not text. Name another with --text.")

    notes = []
    if text is None:
        notes.append(f"text column: {found_text!r} ({'by its name' if text_by_name else 'the longest text'})")
    if found_label is not None and label is None:
        values = sample[found_label].n_unique()
        how = "by its name" if label_by_name else f"{values} value{'' if values == 1 else 's'}"
        notes.append(f"label column: {found_label!r} ({how})")
    return Columns(text=found_text, label=found_label, notes=tuple(notes))


def is_opaque(dtype: pl.DataType) -> bool:
    """Whether a Parquet column holds lists, records or bytes: nothing that can be read as one text or label."""
    return dtype.is_nested() or dtype == pl.Binary


def examples(sample: pl.DataFrame) -> str:
    """One line for each column: its name and a value of it."""
    return "\n".join(f"  {name}: {_example(sample[name])}" for name in sample.columns)


def _example(values: pl.Series) -> str:
    present = values.drop_nulls()
    shown = str(present[0]) if len(present) else "(empty)"
    return shown if len(shown) <= 60 else shown[:59] + "…"


def _by_name(columns: list[str], known: tuple[str, ...]) -> str | None:
    by_lower = {name.strip().lower(): name for name in reversed(columns)}
    return next((by_lower[name] for name in known if name in by_lower), None)


def _text_by_content(sample: pl.DataFrame, source: str, candidates: list[str]) -> str:
    scores = sorted(((_textness(sample[name]), name) for name in candidates), reverse=True)
    if len(candidates) == 1 and len(sample.columns) == 1:
        return candidates[0]
    if not scores or scores[0][0] == 0 or (len(scores) > 1 and scores[0][0] < CLEARLY * scores[1][0]):
        raise UsageError(
            f"{source}: it is not clear which column holds the text. Name it with --text (and the label with --label). "
            f"The columns, with an example each:\n{examples(sample)}"
        )
    return scores[0][1]


def _textness(values: pl.Series) -> float:
    """Mean length in characters × share of distinct values; 0 for a column of numbers or of another type."""
    present = values.drop_nulls()
    if values.dtype != pl.String or not len(present) or not present.cast(pl.Float64, strict=False).has_nulls():
        return 0.0
    return float(present.str.len_chars().mean() or 0) * present.n_unique() / len(present)  # type: ignore[arg-type]


def _label_by_content(sample: pl.DataFrame, source: str, candidates: list[str]) -> str:
    if len(candidates) == 1 and len(sample.columns) == 2:
        return candidates[0]
    few = [name for name in candidates if 2 <= sample[name].n_unique() <= min(MOST_CLASSES, len(sample) // 2)]
    if len(few) != 1:
        raise UsageError(
            f"{source}: it is not clear which column holds the label. Name it with --label. "
            f"The columns, with an example each:\n{examples(sample)}"
        )
    return few[0]


def _check_header(sample: pl.DataFrame, source: str, found: dict[str | None, str | None]) -> None:
    """A column that was found by content must have a name that does not look like one of its values."""
    for column, by_name in found.items():
        if column is None or by_name is not None:
            continue
        if len(column.split()) >= WORDS_OF_DATA or column in sample[column].cast(pl.String, strict=False):
            raise UsageError(
                f"{source}: the first row looks like data: {_example(pl.Series([column]))!r} stands where a "
                f"column's name should be. Add a header row, for example: text,label. If it is the header, name the "
                f"columns with --text and --label."
            )
