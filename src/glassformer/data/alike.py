"""Find a column that nobody asked for whose values look like groups, such as customers: rows of one are alike."""

import re
import unicodedata
from collections.abc import Iterable

import polars as pl

from glassformer.data.column_kinds import is_named_as_id, kind_of
from glassformer.data.column_names import folded
from glassformer.errors import quoted

_PEOPLE = (
    *("customer", "client", "user", "author", "patient", "member", "account", "reviewer", "speaker", "writer"),
    *("student", "employee", "person", "respondent", "participant", "sender"),
    *("kunde", "nutzer", "benutzer", "autor", "konto", "absender"),  # German
    *("utilisateur", "auteur", "cliente", "usuario", "paciente"),  # French, Spanish and Portuguese
    *("khach_hang", "nguoi_dung", "tac_gia", "客户", "用户", "作者", "患者"),  # Vietnamese and Chinese
)
_OF_PEOPLE = re.compile(
    rf"(^|_)({'|'.join(_PEOPLE)})[ns]?(?P<key>_?(id|name|nr|no|number|nummer|key|code|handle|email|uuid))?$"
)
_FEWEST_PEOPLE, _FEWEST_VALUES = 10, 20
_SHARED_BY_PEOPLE, _SHARED = 0.2, 0.5  # of the rows have a value that others have too
_MOST_OF_ONE = 0.2  # of the rows have the same value
_SINGLE = 0.02  # of the rows have a value of their own, so that new rows will have new values: a category has not
_ALIKE, _SAME = 0.2, 0.95  # agreement of the labels of a value beyond chance (kappa). Above, it is another label


def shared_values(sample: pl.DataFrame, free: Iterable[str], labels: pl.Series, *, whole: bool = True) -> str | None:
    """Return a sentence about the first free column whose rows seem to belong together, or None.

    It is named after people, or it has many values, new ones still come, and rows of one value often have one label.

    Args:
        sample: the first rows of a table.
        labels: the label of each row, or its labels, null if it has none.
        whole: whether the sample is the whole table.
    """
    labels = labels.list.sort().list.join("\0") if labels.dtype == pl.List else labels
    for name in free:
        kind = kind_of(sample[name])
        if kind in ("words", "ids", "e-mail addresses", "whole numbers"):
            rows = pl.DataFrame({"value": sample[name].cast(pl.String).str.strip_chars(), "label": labels})
            rows = rows.filter(pl.col("label").is_not_null())
            if not (rows["value"].fill_null("") != "").all():
                continue  # groups that are held out have a value in each row
            named = _is_of_people(_words(name), numbered=kind == "whole numbers")
            if named or kind != "whole numbers" or is_named_as_id(name):
                counts = rows["value"].value_counts()["count"]
                if _look_like_groups(rows, counts, named=named):
                    among = f"{rows.height:,} rows" if whole else f"the first {sample.height:,} rows"
                    return (
                        f"rows share values of the column {quoted(name)} ({len(counts):,} in {among}): if "
                        f"rows of one are alike, figures may be too good; `group={name!r}` holds them out together"
                    )
    return None


def _words(name: str) -> str:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|[\W_]+", "_", unicodedata.normalize("NFC", name))
    return folded(apart).strip("_")


def _is_of_people(words: str, *, numbered: bool) -> bool:
    """Whether values with this name are people: of whole numbers `author` and `book_author_id`, not `age_of_author`."""
    found = _OF_PEOPLE.search(words)
    return found is not None and (not numbered or found["key"] is not None or is_named_as_id(words[: found.start()]))


def _look_like_groups(rows: pl.DataFrame, counts: pl.Series, *, named: bool) -> bool:
    single = float((counts == 1).sum()) / max(1, rows.height)
    if named:
        return len(counts) >= _FEWEST_PEOPLE and 1 - single >= _SHARED_BY_PEOPLE
    if len(counts) < _FEWEST_VALUES or not _SINGLE <= single <= 1 - _SHARED:
        return False
    return int(counts.max() or 0) <= _MOST_OF_ONE * rows.height and _ALIKE <= _agreement(rows) <= _SAME  # type: ignore[arg-type]


def _agreement(rows: pl.DataFrame) -> float:
    """Return how often two rows of one value have the same label, beyond chance: from 0 to 1 (kappa)."""

    def pairs(*columns: str) -> float:
        found = rows.group_by(*columns).len()["len"].cast(pl.Float64)
        return float((found * (found - 1)).sum())

    chance = pairs("label") / (rows.height * (rows.height - 1))
    return (pairs("value", "label") / pairs("value") - chance) / (1 - chance) if chance < 1 else 0.0
