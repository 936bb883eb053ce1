"""Can you trust the slices that `evaluate` calls worse than elsewhere?

    python -m benchmarks.slices
    python -m benchmarks.slices --quick

A model learns from half of the training rows of a table, and answers the other half. This half is cut in two: one part
is the test table in which `evaluate` looks for slices, the other stands for rows that come later. Three questions:

- Are the slices that were named worse on the later rows too, and by how much?
- If no slice is worse, how often is one named? The right and the wrong answers are shuffled among the rows.
- If one slice is worse, is it named? Answers are shuffled as before; then right answers of one slice are made wrong.

No official test row is read. Finished models are kept in the work folder, so a stopped benchmark goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from sklearn.model_selection import train_test_split

from benchmarks.bench_data import read_rows, some_rows
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import apart_from, classifier
from benchmarks.tables_slices import slices_tables
from glassformer.data.table import Table
from glassformer.data.tokenizer_file import LETTERS_PATTERN
from glassformer.evaluation import slices
from glassformer.evaluation.intervals import wilson
from glassformer.evaluation.slices import FEWEST_ROWS, find_slices
from glassformer.evaluation.verdict import SIGNIFICANCE
from glassformer.evaluation.weak_spots import Slice
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

TABLES = ("disaster-tweets", "vietnamese-feedback", "sentiment140", "customer-reviews", "imdb")
SEEDS = 3
MOST_ROWS, ROWS_OF_TRIALS = 5_000, 2_000  # of each part; of the part in which answers are shuffled
NOTHING_WORSE, ONE_WORSE = 200, 100  # trials of each table; of each table and fall of the accuracy
FALLS = (0.1, 0.2, 0.3)
SIZES = (FEWEST_ROWS, 50, 100, 200)  # of a slice: at least so many rows, and fewer than the next
SHOPS = 8  # values of the column that is made up


def main() -> None:
    """Train, count, and write one JSON file."""
    parser = arguments(__doc__, data=False)
    options = parser.parse_args()
    slices.LISTED = 10_000  # all slices, not only those that a report shows
    with running(options) as experiment:
        names, seeds = (TABLES[:1], 1) if experiment.quick else (TABLES, SEEDS)
        answered = {name: [_answered(experiment, name, seed) for seed in range(seeds)] for name in names}
        trials = 10 if experiment.quick else 1
        shuffled = {name: _some(parts[0][0]) for name, parts in answered.items()}
        found = {
            "seeds": list(range(seeds)),
            "falls": FALLS,
            "sizes": SIZES,
            "real": [_real(name, parts) for name, parts in answered.items()],
            "nothing_worse": [_nothing_worse(name, part, NOTHING_WORSE // trials) for name, part in shuffled.items()],
            "one_worse": _one_worse(list(shuffled.values()), ONE_WORSE // trials),
        }
        experiment.write("slices", found, slices_tables)


Part = tuple[list[str], np.ndarray]
"""Texts, and whether each is answered rightly."""


def _answered(experiment: Experiment, name: str, seed: int) -> tuple[Part, Part]:
    """Train on half of the rows. Return the answers to both parts of the other half."""
    rows = read_rows(name, "train")
    rows = some_rows(rows, 1_200 if experiment.quick else 4 * MOST_ROWS, seed)
    train, rest = _halves(rows, seed)
    first, later = _halves(rest, seed)
    later = apart_from(first, later)
    train = apart_from(rest, train)
    recipe = load_recipe(None, overrides={"training.epochs": 0, "model.body": "none", "training.seed": seed})
    predictor = Predictor.load(classifier(experiment, f"slices/{name}-{seed}", recipe, train))
    return _part(predictor, first), _part(predictor, later)


def _halves(table: Table, seed: int) -> tuple[Table, ...]:
    labels = table.frame["label"].to_list()
    first, second = train_test_split(np.arange(len(labels)), test_size=0.5, stratify=labels, random_state=seed)
    return tuple(replace(table, frame=table.frame[sorted(part.tolist())]) for part in (first, second))


def _part(predictor: Predictor, table: Table) -> Part:
    texts = table.frame["text"].to_list()
    return texts, predictor.logits(texts).argmax(axis=1) == predictor.trained.config.label_set.encode(table)


def _real(name: str, parts: Sequence[tuple[Part, Part]]) -> dict[str, Any]:
    """Count the slices that were named, and compare them with the same slices of later rows."""
    gaps, later_gaps, rows, named_rows = [], [], [], []
    for first, later in parts:
        of_later = {(each.kind, each.value): each for each in find_slices(*later).listed}
        found = find_slices(*first)
        rows.append((len(first[0]), found.looked_at))
        named_rows.append(found.significantly_worse)
        for each in found.listed[: found.significantly_worse]:
            again = of_later.get((each.kind, each.value)) or _same_length(each, *later)
            if again is not None:
                gaps.append(_gap(each))
                later_gaps.append(_gap(again))
    worse = int(np.sum(np.array(later_gaps) > 0))
    return {
        "table": name,
        "rows": [each for each, _ in rows],
        "looked_at": [each for _, each in rows],
        "named": named_rows,
        "compared": len(gaps),
        "worse_later": worse,
        "gap": float(np.mean(gaps)) if gaps else None,
        "gap_later": float(np.mean(later_gaps)) if gaps else None,
    }


def _gap(found: Slice) -> float:
    return found.accuracy_of_rest - found.accuracy.value


def _same_length(found: Slice, texts: Sequence[str], right: np.ndarray) -> Slice | None:
    """Return the slice of later rows with the same lengths. Quarters of other rows have other bounds."""
    if found.kind != "length":
        return None  # the later rows hold the word too rarely
    low, high = (int(end) for end in (found.value.split(" to ") * 2)[:2])
    words = _words(texts).list.len()
    inside = pl.DataFrame({"in": words.is_between(low, high).cast(pl.String)})
    listed = find_slices(texts, right, inside).listed
    return next((each for each in listed if (each.column, each.value) == ("in", "true")), None)


def _words(texts: Sequence[str]) -> pl.Series:
    """Return the words of each text, as `find_slices` finds them."""
    return pl.Series(texts).str.normalize("NFKC").str.to_lowercase().str.extract_all(LETTERS_PATTERN)


def _nothing_worse(name: str, part: Part, trials: int) -> dict[str, Any]:
    """Shuffle the right and wrong answers, and count the trials with at least one slice that is called worse."""
    texts, right = part
    random = np.random.default_rng(0)
    named = [find_slices(texts, random.permutation(right)).significantly_worse for _ in range(trials)]
    alarms = int(np.sum(np.array(named) > 0))
    return {"table": name, "rows": len(texts), "trials": trials, "alarms": wilson(alarms, trials).model_dump()}


def _some(part: Part) -> Part:
    texts, right = part
    return texts[:ROWS_OF_TRIALS], right[:ROWS_OF_TRIALS]


def _one_worse(parts: Sequence[Part], trials: int) -> list[dict[str, Any]]:
    """Make one slice worse, and count how often it is named, by its size and the fall of its accuracy."""
    found: dict[tuple[float, int], list[bool]] = {(fall, size): [] for fall in FALLS for size in SIZES}
    for number, (texts, right) in enumerate(parts):
        random = np.random.default_rng(number)
        shop = pl.Series("shop", random.choice([f"shop {value}" for value in range(SHOPS)], len(texts), p=_shares()))
        listed = find_slices(texts, right, pl.DataFrame([shop])).listed
        for fall in FALLS:
            for _ in range(trials):
                chosen = _draw(listed, random)
                named = _is_named(chosen, texts, random.permutation(right), shop, fall, random)
                found[fall, max(size for size in SIZES if size <= chosen.rows)].append(named)
    return [
        {"fall": fall, "at_least": size, "trials": len(named), "named": wilson(sum(named), len(named)).model_dump()}
        for (fall, size), named in found.items()
        if named
    ]


def _is_named(
    chosen: Slice, texts: list[str], right: np.ndarray, shop: pl.Series, fall: float, random: np.random.Generator
) -> bool:
    """Make right answers of a slice wrong. Return whether it is then called worse."""
    inside = (shop == chosen.value).to_numpy() if chosen.kind == "column" else _holds(texts, chosen.value)
    hits = np.flatnonzero(inside & right)
    right[random.permutation(hits)[: round(fall * inside.sum())]] = False
    again = find_slices(texts, right, pl.DataFrame([shop])).listed
    (found,) = [each for each in again if (each.kind, each.value) == (chosen.kind, chosen.value)]
    return found.corrected_p < SIGNIFICANCE


def _shares() -> np.ndarray:
    """Return the share of each shop: the first is half as large again as the second, and so on."""
    shares = 1.5 ** -np.arange(SHOPS)
    return shares / shares.sum()


def _draw(listed: Sequence[Slice], random: np.random.Generator) -> Slice:
    """Draw a size, then a slice of about this size: most keywords are rare."""
    kinds = [each for each in listed if each.kind != "length"]
    by_size = list(_by_size(kinds))
    part = by_size[random.integers(len(by_size))]
    return part[random.integers(len(part))]


def _by_size(listed: Sequence[Slice]) -> Iterator[list[Slice]]:
    for low, high in zip(SIZES, (*SIZES[1:], np.inf), strict=True):
        if part := [each for each in listed if low <= each.rows < high]:
            yield part


def _holds(texts: Sequence[str], word: str) -> np.ndarray:
    return _words(texts).list.contains(word).to_numpy()


if __name__ == "__main__":
    main()
