"""The bench of tables: the defaults on many tables, beside each reader alone and other classifiers.

python -m benchmarks.bench_of_tables
python -m benchmarks.bench_of_tables --only trec zhou
python -m benchmarks.bench_of_tables --quick
python -m benchmarks.bench_of_tables --test

For choosing settings, a fifth of the training rows is held out, by the seed. `--test` trains on all training rows and
answers the official test rows: run it once, when nothing is left to choose. All contestants learn from the same rows,
the validation rows of our model included. Every answer is kept in the work folder, so a stopped bench goes on where it
was. What uses glassformer is trained again when its code has changed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.bench_contestants import answers
from benchmarks.bench_data import MOST_HELD_OUT, OF_TRIAL, Entry, cut_rows, entries_named
from benchmarks.bench_opponents import FastText
from benchmarks.bench_result import EntryRun, entry_result, summary
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.tables_bench import bench_tables
from glassformer.data.wording import counted, duration

FOLDER = "bench-of-tables"


def main() -> None:
    """Run the bench, or the entries that the command line names."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each entry, seeds 0, 1, … (default: 3)")
    parser.add_argument(
        "--only", nargs="+", metavar="ENTRY", help="run only these; their result is printed, not written"
    )
    parser.add_argument("--test", action="store_true", help="answer the official test rows")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds needs at least 1")
    with running(options) as experiment:
        entries = entries_named(options.only or (OF_TRIAL if options.quick else None))
        seeds = range(1 if options.quick else options.seeds)
        found = document(run_entries(experiment, entries, seeds, test=options.test), test=options.test)
        print("\n\n".join(bench_tables(found)))
        if options.only is None:
            experiment.write(f"{FOLDER}/{'test' if options.test else 'development'}", found)


def run_entries(
    experiment: Experiment, entries: Sequence[Entry], seeds: Sequence[int], *, test: bool
) -> dict[Entry, list[EntryRun]]:
    """Run every entry with the first seed, then with the second, and so on. Say what is done and how long it takes."""
    whole = len(seeds) * sum(entry.minutes for entry in entries)
    _say(f"{counted(len(entries), 'entry', 'entries')}, {counted(len(seeds), 'seed')}")
    if not experiment.quick:
        estimates = [f"{entry.name} {entry.minutes:g}" for entry in entries]
        _say(f"about {duration(60 * whole)} in all on two cores; minutes for a seed: {', '.join(estimates)}")
    if not FastText.is_installed():
        _say("fastText is left out, as it is not installed: pip install -r requirements/bench.txt")
    found: dict[Entry, list[EntryRun]] = {entry: [] for entry in entries}
    done = 0.0
    for seed in seeds:
        for entry in entries:
            _say(f"{entry.name}, seed {seed}")
            began = time.perf_counter()
            cut = cut_rows(entry, seed, test=test, quick=experiment.quick)
            folder = f"{FOLDER}/{entry.name}"
            found[entry].append(EntryRun.of(seed, cut, answers(experiment, folder, seed, cut)))
            done += entry.minutes
            left = "" if experiment.quick else f"; about {duration(60 * (whole - done))} left"
            _say(f"  done in {duration(time.perf_counter() - began)}{left}")
    return found


def document(found: dict[Entry, list[EntryRun]], *, test: bool) -> dict[str, Any]:
    """Return the result of the bench."""
    entries = [entry_result(entry, runs) for entry, runs in found.items()]
    return {
        "rows": "the official test rows" if test else f"a fifth of the training rows, at most {MOST_HELD_OUT:,}",
        "seeds": [run.seed for run in next(iter(found.values()))],
        "summary": summary(entries),
        "best": summary([entry["best"] for entry in entries]),
        "entries": entries,
        "left_out": [] if FastText.is_installed() else ["fastText"],
    }


def _say(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
