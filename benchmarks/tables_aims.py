"""The table of aims in docs/how-it-works/results.md: what was aimed at, reached, and tried."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.few_labels import TFIDF
from benchmarks.tables_common import NOT_YET, Document, read
from glassformer.data.wording import counted
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown, short


@dataclass(frozen=True, kw_only=True)
class Aim:
    """An accuracy that was aimed at, or a gain.

    Attributes:
        result: the result file, below benchmarks/results, without `.json`.
        per_class: the rows of each class, if the aim is a gain over TF-IDF with few labels.
        tried: what was tried to reach it.
    """

    what: str
    aim: float
    result: str
    per_class: int | None = None
    tried: str


AIMS = (
    Aim(
        what="few labels: mean gain over TF-IDF with 8 rows of each class", aim=0.09, result="few-labels", per_class=8,
        tried="other weights of readers; priors for C and n-grams; names of labels as rows; self-training; VAT",
    ),
    Aim(what="the same with 32", aim=0.09, result="few-labels", per_class=32,
        tried="other weights of readers; priors for C and n-grams; names of labels as rows; self-training; VAT; a "
        "sentiment axis",
    ),
    Aim(
        what="`disaster-tweets`", aim=0.825, result="disaster-tweets",
        tried="the transformer started from the vectors, and pre-trained; vectors of the texts themselves",
    ),
    Aim(what="`disaster-tweets`, 5 folds", aim=0.825, result="disaster-tweets-5-fold", tried="the same"),
    Aim(what="`imdb`", aim=0.925, result="imdb", tried="the same"),
    Aim(what="`imdb`, in an hour, with its unlabelled reviews", aim=0.935, result="imdb-unlabelled", tried="the same"),
)  # fmt: skip


def aims_table(results: Path) -> list[str]:
    """Show a row for each aim."""
    rows = [_row(aim, results) for aim in AIMS]
    return [markdown([("data", "aim", "reached", "tried"), *rows])]


def _row(aim: Aim, results: Path) -> tuple[str, ...]:
    file, wanted = results / f"{aim.result}.json", short(aim.aim)
    if not file.is_file():
        return aim.what, wanted, NOT_YET, aim.tried
    found = read(file)
    mean, reached = _of_runs(found) if aim.per_class is None else _of_few(found, aim.per_class)
    return aim.what, wanted, f"**{reached}**" if mean >= aim.aim else reached, aim.tried if mean < aim.aim else ""


def _of_runs(found: Document) -> tuple[float, str]:
    """Return the mean accuracy, and how it is shown: with the lowest and highest run, or the 95% interval of one."""
    values = [run["accuracy"]["value"] for run in found["runs"]]
    mean = sum(values) / len(values)
    if len(values) > 1:
        return mean, f"{short(mean)} ({short(min(values))} to {short(max(values))} in {len(values)} runs)"
    one = found["runs"][0]["accuracy"]
    return mean, f"{short(mean)} (95% interval {short(one['low'])} to {short(one['high'])}, one seed)"


def _of_few(found: Document, per_class: int) -> tuple[float, str]:
    """Return the mean gain over TF-IDF, and how it is shown: with the lowest and highest of the tables."""
    gains = [line["over"][TFIDF]["value"] for line in found["lines"] if line["per_class"] == per_class]
    mean = sum(gains) / len(gains)
    return mean, f"{short(mean)} ({signed(min(gains))} to {signed(max(gains))} on {counted(len(gains), 'table')})"
