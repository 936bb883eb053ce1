"""Find the columns of the text and of the label: as requested, by name, or by content."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import polars as pl

from glassformer.data.column_kinds import (
    holds_some_numbers,
    is_named_as_id,
    is_near_unique,
    is_opaque,
    kind_of,
    looks_like_data,
    nested_labels,
    to_fill_in,
)
from glassformer.data.column_names import (
    LABEL_NAMES,
    MEASURE_NAMES,
    TEXT_NAMES,
    folded,
    may_name_label,
    may_name_text,
    tidy,
)
from glassformer.data.wording import counted, did_you_mean
from glassformer.errors import UsageError, quoted

MOST_CLASSES = 100  # a column with more distinct values is taken for a label only by its name
MOST_NUMBERS = 20  # the same for whole numbers, which may also be counts or measurements
CLEARLY = 2.0  # the text column found by content must beat the next one by this factor
MOST_COLUMNS = 1_000  # with more columns, text and label are not searched by content
_MOST_TITLES, _ROWS_OF_TITLE = 5, 10  # values of a column `title`, and rows of each, that are no texts
WORDS_OF_TEXT = 3  # a column that differs in most rows and has this many words per row is taken for a text
HOW_TO_LABEL = "`glassformer desk TABLE` lets you label some."
_ONE_COLUMN = (
    " If the table should have more than one column: they are separated by commas, semicolons, tabs or bars, and no "
    "row is in quotes as a whole."
)
_MARKS = {"0", "1", "0.0", "1.0", "true", "false", "yes", "no", "x", "wahr", "falsch", "ja", "nein"}
_ONE_HOT = (
    " If each column says whether one label applies, make one column of their names, such as `food|staff`, and add "
    "`multilabel='|'`."
)
_JUDGED = ("accept", "reject", "ignore")  # as Prodigy writes it in `answer`
_COLUMNS_SHOWN, _VALUES_SHOWN = 12, 3
_NUMBERS = ("whole numbers", "decimal numbers")

Refusal = Callable[[pl.Series], str | None]


class Wanted(TypedDict, total=False):
    """What a user says about the columns of a table. Without `text` and `label`, these columns are found."""

    text: str | None
    label: str | None
    group: str | None
    time: str | None
    some_grouped: bool
    """Whether rows may lack a group: the groups decide which rows are alike, and not which are held out."""
    multilabel: str | None
    """The separator of several labels in one cell."""
    lower: Sequence[str]
    """The columns of the levels below that of the label."""
    levels: str | None
    """What separates the levels of a label that is read from several columns."""
    other_texts: Sequence[str]
    """The texts beside the first one. They are neither its column nor that of the label, and nor are the next."""
    beside: Sequence[str]
    """The columns beside the texts that are read."""
    number: bool | None
    """Whether a number is learned: its column holds numbers. False if it could be. None if labels of another task are
    learned. Left out: nothing is learned."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns in use, and notes that say how each was found.

    Attributes:
        like_labels: other columns that look like labels. They are searched only if the label column holds decimal
            numbers.
    """

    text: str
    label: str | None
    notes: tuple[str, ...]
    kept: Mapping[str, str]
    like_labels: tuple[str, ...] = ()


def find_columns(sample: pl.DataFrame, source: str, *, labelled: bool, **wanted: Unpack[Wanted]) -> Columns:
    """Choose the columns of a table from its first rows. A column that is requested by name is taken as it is.

    By name, the text is the first of `TEXT_NAMES` that occurs, and the label the first of `LABEL_NAMES`, then of
    `MEASURE_NAMES`; else the only column that holds texts or few values, and has one of these words in its name. By
    content, the text is the column with clearly the longest, most varied values. The label is the
    only other column of a two-column table, else the only one with few distinct values. Columns of decimal numbers,
    dates, links or ids, and labels that nearly all differ, are never chosen automatically: they must be requested by
    name. If a number is learned, its column is the only other one with numbers.

    Raises `UsageError` if a column is missing, or the choice is not clear.
    """
    text, label = wanted.get("text"), wanted.get("label")
    of_split = columns_of_split(wanted)
    other_texts = wanted.get("other_texts", ())
    lower, beside = wanted.get("lower", ()), wanted.get("beside", ())
    inputs = {name: same_column(name, sample.columns) or name for name in (*other_texts, *beside)}
    if inputs:
        text = same_column(text, sample.columns) or text
    kept = tuple(inputs.values())
    _check_asked(sample, source, text, wanted, inputs)
    free = [name for name in sample.columns if name not in (text, label, *of_split.values(), *kept, *lower)]
    text_by_name = text or _by_name(free, TEXT_NAMES, sample, _not_a_text)
    labels = _Labels(sample, wanted.get("multilabel"), wanted.get("number"))
    others = [name for name in free if name != text_by_name]
    named = _by_name(others, (*LABEL_NAMES, *MEASURE_NAMES), sample, labels.refusal) if labelled else None
    label_by_name = label or named
    if labelled and label_by_name is None and (taken := _by_name(list(kept), LABEL_NAMES, sample, labels.refusal)):
        raise UsageError(
            f"The column {quoted(taken)} looks like the label, but `columns=` names it as an input. Leave it out "
            "there, or name the label with `label=`."
        )
    if labelled and label_by_name is None and (why := nested_labels(sample) or to_fill_in(sample, others)):
        raise UsageError(f"{source}: {why}")
    rest = [name for name in free if name != label_by_name]
    told = None if text_by_name else _only(rest, lambda name: may_name_text(name) and _is_text(sample[name]))
    found_text = text_by_name or told or _text_by_content(sample, source, rest, kept)
    others = [name for name in free if name != found_text]
    told_label = None
    if labelled and label_by_name is None:
        told_label = _only(others, lambda name: may_name_label(name) and labels.few_values(name))
    found_label = label_by_name or told_label or (_label_by_content(labels, source, others, kept) if labelled else None)
    for column, by_name in {found_text: text_by_name, found_label: label_by_name}.items():
        if column is not None and by_name is None and looks_like_data(sample, column):
            raise UsageError(
                f"{source}: the first row looks like data: {quoted(column)} stands where a column's name should be. "
                "Add a header row, for example: text,label. If it is the header, name the columns with `text=` and "
                "`label=`."
            )
    if is_opaque(dtype := sample.schema[found_text]):
        raise UsageError(
            f"{source}: the column {quoted(found_text)} holds {dtype}, not text. Name another with `text=`."
        )

    others = [name for name in others if name != found_label][:MOST_COLUMNS]
    notes = []
    if text is None:
        how = "by its name" if text_by_name else "by its name and content" if told else "the longest text"
        unread = [name for name in others if _is_text(sample[name])]
        notes.append(f"text column: {quoted(found_text)} ({how}){_said_of(unread, found_text, 'number' in wanted)}")
    if found_label is not None and label is None:
        notes.append(_label_note(labels, found_label, others, by_name=named is not None, told=told_label is not None))
    if found_label is not None:
        notes += filter(None, (_said_of_judged(sample[name]) for name in others))
    decimal = found_label is not None and kind_of(sample[found_label]) == "decimal numbers"
    like_labels = tuple(filter(labels.few_values, others)) if decimal else ()
    return Columns(text=found_text, label=found_label, notes=tuple(notes), kept=inputs, like_labels=like_labels)


def _check_asked(
    sample: pl.DataFrame, source: str, text: str | None, wanted: Wanted, inputs: Mapping[str, str]
) -> None:
    """Raise `UsageError` if a column that was requested is not there, or was requested twice."""
    others = wanted.get("other_texts", ())
    asked = [
        ("text", text),
        *(("text" if name in others else "columns", column) for name, column in inputs.items()),
        ("label", wanted.get("label")),
        *columns_of_split(wanted).items(),
        *(("label", column) for column in wanted.get("lower", ())),
    ]
    for setting, column in asked:
        if column is not None and column not in sample.columns:
            hint = did_you_mean(column, sample.columns)
            message = f"{source} has no column {quoted(column)} (`{setting}=`).{hint} It has:"
            raise UsageError(message, listing(sample, sample.columns))
    check_once(asked)


def check_once(asked: Iterable[tuple[str, str | None]]) -> None:
    """Raise `UsageError` if a column is named twice: settings, each with a column that it names."""
    named: dict[str, str] = {}
    for setting, column in asked:
        if column in named:
            if named[column] == setting:
                raise UsageError(f"`{setting}=` names the column {quoted(column)} twice; name it once.")
            raise UsageError(
                f"Column {quoted(column)} cannot be both `{named[column]}=` and `{setting}=`; leave one out."
            )
        if column is not None:
            named[column] = setting


def _only(names: list[str], fits: Callable[[str], bool]) -> str | None:
    found = [name for name in names[:MOST_COLUMNS] if fits(name)]
    return found[0] if len(found) == 1 else None


def columns_of_split(wanted: Wanted) -> dict[str, str | None]:
    """Return the columns that decide which rows are held out, by the settings that name them."""
    return {"group": wanted.get("group"), "time": wanted.get("time")}


def same_column(column: str | None, columns: Sequence[str]) -> str | None:
    """Return the column of that name, or the only one that differs in case, spaces and underscores alone, or None."""
    if column is None:
        return None
    if column in columns:
        return column
    near = [other for other in columns if tidy(other) == tidy(column)]
    return near[0] if len(near) == 1 else None


def listing(sample: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return one line per column: its name, a few values, and their number or kind."""
    shown = [f"  {quoted(name)}: {_described(sample[name])}" for name in names[:_COLUMNS_SHOWN]]
    more = len(names) - _COLUMNS_SHOWN
    return shown + ([f"  and {more:,} more columns"] if more > 0 else [])


def _described(values: pl.Series) -> str:
    kind = kind_of(values)
    if kind in ("empty", "lists or records"):
        return f"({kind})"
    present = _filled(values)
    common = present.value_counts(sort=True)[values.name].to_list() if len(present) else []
    shown = ", ".join(quoted(value, most=30) for value in common[:_VALUES_SHOWN])
    more = ", …" if len(common) > _VALUES_SHOWN else ""
    units = {"words": "value", "whole numbers": "different whole number"}
    what = counted(len(common), units[kind]) if kind in units else kind
    return f"{shown}{more} ({what})"


def _filled(values: pl.Series) -> pl.Series:
    """Return the cells that are not empty, as text unless they are lists or the like."""
    if is_opaque(values.dtype):
        return values.drop_nulls()
    present = values.drop_nulls().cast(pl.String)
    return present.filter(present.str.strip_chars() != "")


def _by_name(columns: list[str], known: tuple[str, ...], sample: pl.DataFrame, refusal: Refusal) -> str | None:
    """Return the column with the first of the known names. Columns whose values do not fit the name are skipped."""
    by_tidy_name = {folded(name): name for name in reversed(columns)}
    found = (by_tidy_name[name] for name in known if name in by_tidy_name)
    return next((name for name in found if refusal(sample[name]) is None), None)


def _not_a_text(values: pl.Series) -> str | None:
    """Why a column is not guessed as the text. A column named `text` always is: it may hold codes to classify."""
    kind = kind_of(values)
    if tidy(values.name) == "text":
        return None
    different = (present := _filled(values)).n_unique()
    titles = different <= _MOST_TITLES and len(present) >= _ROWS_OF_TITLE * different
    if kind == "words" and titles and tidy(values.name) == "title":
        return "few different values"  # a `Title` such as Mr and Mrs, or of all tasks
    return None if kind in ("words", "lists or records") else kind


def _text_by_content(sample: pl.DataFrame, source: str, candidates: list[str], kept: Sequence[str]) -> str:
    if len(candidates) == 1 and len(sample.columns) == 1:
        return candidates[0]
    looked_at = candidates if len(candidates) <= MOST_COLUMNS else []
    scores = sorted(((_textness(sample[name]), name) for name in looked_at), reverse=True)
    if not scores or scores[0][0] == 0 or (len(scores) > 1 and scores[0][0] < CLEARLY * scores[1][0]):
        if taken := _by_name(list(kept), TEXT_NAMES, sample, _not_a_text):
            raise UsageError(
                f"The column {quoted(taken)} looks like the text, but `columns=` names it as an input beside the text. "
                "Leave it out there, or name the text with `text=`."
            )
        texts = [name for score, name in scores if score > 0] or [name for name in sample.columns if name not in kept]
        raise UsageError(
            f"{source}: it is not clear which column holds the text. Name it with `text=` (and the label with "
            "`label=`). The columns, with some values:",
            listing(sample, texts),
        )
    return scores[0][1]


def _textness(values: pl.Series) -> float:
    """Mean length in characters × share of distinct values; 0 for a column that holds no words."""
    if values.dtype != pl.String or kind_of(values) != "words":
        return 0.0
    present = values.drop_nulls()
    return float(present.str.len_chars().mean() or 0) * present.n_unique() / len(present)  # type: ignore[arg-type]


def _said_of(unread: list[str], text: str, learned: bool) -> str:
    """Say which texts are left out, and how to learn from them too."""
    if not unread:
        return ""
    said = f"; left out: {', '.join(map(quoted, unread))}, which {'hold texts' if unread[1:] else 'holds texts'} too"
    ways = " ".join(f"`text={name!r}`" for name in (text, *unread))
    return f"{said}; to read {'all' if unread[1:] else 'both'}: {ways}" if learned else said


def _is_text(values: pl.Series) -> bool:
    """Whether a column holds texts of several words, most of which differ."""
    if values.dtype != pl.String or kind_of(values) != "words":
        return False
    present = values.drop_nulls()
    words = float(present.str.count_matches(r"\S+").mean() or 0)  # type: ignore[arg-type]
    return words >= WORDS_OF_TEXT and 2 * present.n_unique() > len(present)


@dataclass(frozen=True, eq=False)
class _Labels:
    """The columns of a sample as labels, or as numbers if these are learned."""

    sample: pl.DataFrame
    separator: str | None
    number: bool | None

    def refusal(self, values: pl.Series) -> str | None:
        """Why the values of a column are not guessed as labels, in a few words."""
        if is_opaque(values.dtype):
            return None  # lists are refused with a better sentence where several labels per text were not asked for
        if self.separator is not None:
            values = values.cast(pl.String).str.split(self.separator).explode(empty_as_null=True)
        kind = kind_of(values)
        if self.number:
            return None if kind in _NUMBERS else kind
        if kind not in ("words", "whole numbers"):
            return kind
        measure = kind == "whole numbers" and folded(values.name) not in LABEL_NAMES
        if measure and values.n_unique() > MOST_NUMBERS:
            return "many different numbers"
        return "nearly all differ" if is_near_unique(values) else None

    def few_values(self, name: str) -> bool:
        """Whether a column without a telling name may hold labels."""
        values = self.sample[name]
        if is_opaque(values.dtype) or is_named_as_id(name) or self.refusal(values) is not None:
            return False
        return 2 <= values.n_unique() <= (len(values) if self.number else min(MOST_CLASSES, len(values) // 2))

    def numbers(self, names: Sequence[str]) -> list[str]:
        """Return the columns that hold numbers and are not named as an id."""
        return [name for name in names if not is_named_as_id(name) and kind_of(self.sample[name]) in _NUMBERS]


def _label_note(labels: _Labels, column: str, others: Sequence[str], *, by_name: bool, told: bool) -> str:
    """Say how the label was found, and which other columns have names of labels, if it has one."""
    sample = labels.sample
    values = counted(_filled(sample[column]).n_unique(), "value")
    how = "by its name" if by_name else f"by its name and content, {values}" if told else values
    said = f"{'number' if labels.number else 'label'} column: {quoted(column)} ({how})"
    also = [name for name in others if by_name and folded(name) in LABEL_NAMES and labels.few_values(name)]
    # Not where each value stands beside one value of the other, as 1 beside `spam`.
    pairs = {name: {sample.select(name, column).n_unique(), sample[name].n_unique()} for name in also}
    also = [name for name in also if pairs[name] != {sample[column].n_unique()}]
    if not also:
        return said
    named = f"named as {'labels' if also[1:] else 'a label'} too: {', '.join(map(quoted, also))}"
    return f"{said}; {named}; to learn another: `label={also[0]!r}`"


def _said_of_judged(values: pl.Series) -> str | None:
    """Say which rows were rejected by those who checked their labels, if a column tells."""
    rows = _filled(values)
    if is_opaque(rows.dtype) or not {*rows.head(1)} <= {*_JUDGED} or not {*rows.unique()} <= {*_JUDGED}:
        return None
    if not (doubtful := int((rows != _JUDGED[0]).sum())):
        return None
    where = f"{doubtful:,} of the first {counted(len(rows), 'row')}"
    return f"the column {quoted(values.name)} holds 'reject' or 'ignore' in {where}: remove those with a wrong label"


def _label_by_content(labels: _Labels, source: str, candidates: list[str], kept: Sequence[str]) -> str:
    sample = labels.sample
    if len(candidates) == 1 and len(sample.columns) == 2 and labels.refusal(sample[candidates[0]]) in (None, "empty"):
        return candidates[0]
    few = list(filter(labels.few_values, candidates)) if len(candidates) <= MOST_COLUMNS else []
    if len(few) == 1:
        return few[0]
    rest = f"The table has{', beside the inputs in `columns=`' if kept else ''}:"
    if few and labels.number:
        why = "it is not clear which column holds the number. Name it with `target=`. It may be:"
    elif few:
        marks = all({*_filled(sample[name]).str.to_lowercase().unique()} <= _MARKS for name in few)
        one_hot = _ONE_HOT if marks else ""
        why = f"it is not clear which column holds the label. Name it with `label=`.{one_hot} It may be:"
    elif labels.number:
        mixed = [quoted(name) for name in candidates[:MOST_COLUMNS] if holds_some_numbers(sample[name])]
        which = "one" if mixed[1:] else "it"
        but = f" (in {', '.join(mixed)}, some cells are not numbers: name {which} to see them)" if mixed else ""
        why = f"no column holds numbers{but}. Name the column with `target=`. {rest}"
    else:
        found = labels.numbers(candidates[:MOST_COLUMNS]) if labels.number is False else []
        number = f" To learn a number, name its column with `target=`: {', '.join(map(quoted, found[:5]))}."
        why = (
            "no column looks like labels. Labels have few different values and are not dates, ids or decimal numbers. "
            f"Name the column with `label=`. If no row has a label yet, {HOW_TO_LABEL}{number if found else ''}"
            f"{'' if sample.columns[1:] else _ONE_COLUMN} {rest}"
        )
    raise UsageError(f"{source}: {why}", listing(sample, few or [name for name in sample.columns if name not in kept]))
