"""The table of aims in docs/how-it-works/bench-of-tables.md: what was aimed at, reached, and tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables_common import NOT_YET, Document, read
from glassformer.experiments.published.table import markdown, short

_BENCH = "bench-of-tables/test"


@dataclass(frozen=True, kw_only=True)
class Aim:
    """An accuracy that was aimed at.

    Attributes:
        result: the result file, below benchmarks/results, without `.json`.
        entry: the entry of the bench, if the result is that of the bench.
        tried: what was tried to reach it.
    """

    what: str
    accuracy: float
    result: str = _BENCH
    entry: str = ""
    tried: str


_OF_ALL = "the transformer on top of counting in place of beside it; averages of the weights; longer schedules"
AIMS = (
    Aim(what="`trec`", accuracy=0.91, entry="trec", tried=_OF_ALL),
    Aim(what="`customer-reviews`", accuracy=0.81, entry="customer-reviews", tried=_OF_ALL),
    Aim(what="`clinc150`", accuracy=0.93, entry="clinc150", tried="other values of C; labels of counting for others"),
    Aim(what="`disaster-tweets`", accuracy=0.82, entry="disaster-tweets", tried=f"{_OF_ALL}; pre-training"),
    Aim(what="`disaster-tweets`, 5 folds", accuracy=0.815, result="disaster-tweets-5-fold", tried="the same"),
    Aim(
        what="`sentiment140`, 359 rows", accuracy=0.80, entry="sentiment140",
        tried="pre-training on 103,000 other tweets; word vectors from counts",
    ),
    Aim(
        what="`imdb`, defaults", accuracy=0.92, entry="imdb",
        tried="whole films as validation rows; 1, 2 and 4 epochs; other n-grams and ways to prune them",
    ),
    Aim(
        what="`imdb`, pre-trained on its unlabelled reviews", accuracy=0.93, result="imdb-pretrained",
        tried="word vectors from counts as the start; labels of counting for the unlabelled reviews",
    ),
)  # fmt: skip


def aims_table(results: Path) -> list[str]:
    """Show a row for each aim."""
    rows = [_row(aim, results) for aim in AIMS]
    return [markdown([("data", "aim", "reached: mean, lowest and highest", "TF-IDF", "tried"), *rows])]


def _row(aim: Aim, results: Path) -> tuple[str, ...]:
    file = results / f"{aim.result}.json"
    if not file.is_file():
        return aim.what, short(aim.accuracy), NOT_YET, "–", aim.tried
    found = read(file)
    ours, baseline = _of_entry(found, aim.entry) if aim.entry else _of_runs(found)
    mean = sum(ours) / len(ours)
    reached = f"{short(mean)} ({short(min(ours))}–{short(max(ours))})" if len(ours) > 1 else f"{short(mean)}, one seed"
    shown = f"**{reached}**" if mean >= aim.accuracy else reached
    theirs = short(sum(baseline) / len(baseline))
    return aim.what, short(aim.accuracy), shown, theirs, aim.tried if mean < aim.accuracy else ""


def _of_entry(found: Document, name: str) -> tuple[Sequence[float], Sequence[float]]:
    (entry,) = (entry for entry in found["entries"] if entry["name"] == name)
    ours, baseline = (entry["contestants"][name]["accuracy_of_seeds"] for name in ("ours", "TF-IDF"))
    return ours, baseline


def _of_runs(found: Document) -> tuple[Sequence[float], Sequence[float]]:
    baseline = found["baselines"]["TF-IDF + logistic regression"]["accuracy"]["mean"]
    return [run["accuracy"]["value"] for run in found["runs"]], [baseline]
