"""What `glassformer search` brings: the default recipe against the settings found, and whether the figure held.

python -m benchmarks.search
python -m benchmarks.search --only trec --minutes 30
python -m benchmarks.search --quick

The search sees training rows alone, and holds a fifth of them out itself. After it has ended, the default recipe and
the settings found are trained on all training rows and answer the official test rows. A stopped benchmark goes on where
it was.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_data import Cut, Entry, cut_rows, entries_named
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.paired import over_rows
from benchmarks.tables_search import search_tables
from glassformer.cli.search import LiveSearch
from glassformer.data.sources import Sources
from glassformer.data.splits import fingerprint
from glassformer.evaluation.intervals import mcnemar, share_right
from glassformer.experiments.keeper import read_kept
from glassformer.experiments.search.result import SearchResult
from glassformer.experiments.search.search import RECIPE_FILE, RESULT_FILE, is_unfinished, search
from glassformer.experiments.search.trial import Answered, measure
from glassformer.targets.labels.experiments import PART as LABELS
from glassformer.training.recipe import Recipe, load_recipe

TABLES = ("customer-reviews", "trec", "disaster-tweets")
MINUTES = 10.0


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__, data=False)
    parser.add_argument(
        "--only", nargs="+", metavar="ENTRY", help="other tables, by their names in the bench of tables"
    )
    parser.add_argument(
        "--minutes",
        nargs="+",
        type=float,
        default=[MINUTES],
        help=f"of all searches, or of each (default: {MINUTES:g})",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the held-out rows and of every training (default: 0)")
    options = parser.parse_args()
    with running(options) as experiment:
        entries = entries_named(options.only or (TABLES[:1] if options.quick else TABLES))
        minutes = options.minutes * (len(entries) if len(options.minutes) == 1 else 1)
        if len(minutes) != len(entries):
            parser.error("--minutes needs one number, or one for each table")
        lines = [_line(experiment, *each, options.seed) for each in zip(entries, minutes, strict=True)]
        found = {"seed": options.seed, "lines": lines}
        experiment.write("search", found, search_tables)


def _line(experiment: Experiment, entry: Entry, minutes: float, seed: int) -> dict[str, Any]:
    """Search the training rows, unless that was done before. Then measure on the test rows."""
    cut = cut_rows(entry, seed, test=True, quick=experiment.quick)
    recipe = load_recipe(None, overrides={"training.seed": seed})

    def make(folder: Path) -> None:
        resume = is_unfinished(folder)
        with LiveSearch(minutes) as view:
            search(
                Sources(train=cut.train), recipe, folder,
                minutes=minutes, resume=resume, overwrite=not resume, watcher=view,
            )  # fmt: skip

    made_of = {"recipe": recipe.model_dump(mode="json"), "rows": fingerprint(cut.train), "minutes": minutes}
    folder = experiment.model(f"search/{entry.name}-{minutes:g}-{seed}", made_of, make)
    found = read_kept(folder / RESULT_FILE, SearchResult)
    assert found is not None
    line = {
        "table": entry.name,
        "minutes": minutes,
        "training_rows": cut.train.frame.height,
        "data_sha256": fingerprint(cut.train),
    }
    line |= _reported(found) | _on_test_rows(folder, recipe, cut, found)
    print(line, file=sys.stderr)
    return line


def _reported(found: SearchResult) -> dict[str, Any]:
    """Return what the command reported."""
    return {
        "trials": len(found.trials),
        "seconds": found.seconds,
        "best": next(trial.name for trial in found.trials if trial.number == found.best),
        "recommended": found.recommended,
        "mattered": [effect.key for effect in found.effects if effect.matters],
        "unseen_rows": found.data.unseen_rows,
        "default": {figure.key: figure.default.model_dump() for figure in found.figures},
        "found": {figure.key: figure.found.model_dump() for figure in found.figures},
        **{f"{figure.key}_difference": figure.difference.model_dump() for figure in found.figures},
    }


def _on_test_rows(folder: Path, recipe: Recipe, cut: Cut, found: SearchResult) -> dict[str, Any]:
    """Train with the default recipe and with the best settings on all training rows, and answer the test rows."""
    default = _measured(folder, recipe, cut)
    best = _measured(folder, load_recipe(str(folder / RECIPE_FILE)), cut) if found.best else default
    right = [np.array(each.rows["accuracy"], np.bool_) for each in (best, default)]
    losses = [np.array(each.rows["log_loss"]) for each in (best, default)]
    return {
        "test_rows": cut.held_out.frame.height,
        "test_default": _figures(right[1], losses[1]),
        "test_found": _figures(right[0], losses[0]),
        "test_accuracy_difference": over_rows(right[0].astype(np.int8) - right[1].astype(np.int8)),
        "test_log_loss_difference": over_rows(losses[0] - losses[1]),
        "test_mcnemar_p": mcnemar(right[0], right[1])[2],
    }


def _measured(folder: Path, recipe: Recipe, cut: Cut) -> Answered:
    return measure(LABELS, recipe, Sources(train=cut.train), cut.held_out, folder / "test")[0]


def _figures(right: np.ndarray, losses: np.ndarray) -> dict[str, Any]:
    return {"accuracy": share_right(right, seed=0).model_dump(), "log_loss": over_rows(losses)}


if __name__ == "__main__":
    main()
