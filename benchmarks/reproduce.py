"""The table of the published systems: every run with its seed, versions, machine and commit.

    python -m benchmarks.reproduce                          # all of it, after saying how long each line took
    python -m benchmarks.reproduce bui-dang-rows --data zhou

Systems, --data and --init are those of `glassformer reproduce`. Each line of the table becomes one JSON file in
benchmarks/results/reproduce.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.experiment import RESULTS, arguments, processor, running
from benchmarks.tables_common import read
from benchmarks.tables_reproduce import NOT_YET, name_of
from glassformer.cli.reproduce import LiveTable
from glassformer.data.wording import counted, duration
from glassformer.errors import UsageError
from glassformer.experiments.published.reproduce import choose, reproduce
from glassformer.experiments.published.systems import TableEntry
from glassformer.experiments.published.table import Cell, Reproduction
from glassformer.training.initial_weights import read_initial_weights

OF_RUN = {
    "seed", "accuracy", "macro_f1", "weighted_f1", "training_accuracy", "parameters", "training_rows",
    "training_sha256", "best_epoch", "training_seconds",
}  # fmt: skip


def main() -> None:
    """Run the chosen lines, and write a file for each."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("systems", nargs="*")
    parser.add_argument("--data")
    parser.add_argument("--init", help="weights for vinh-transfer, as in `glassformer train --init`")
    options = parser.parse_args()
    with running(options) as experiment:
        init = None if options.init is None else read_initial_weights(options.init)
        stamp = {"commit": experiment.commit, "processor": processor()}
        entries = choose(options.systems, options.data, first_look=options.quick)
        for entry in () if options.quick else entries:
            print(f"{entry.system} on {entry.data}: {time_of(entry)}", file=sys.stderr)
        for entry in entries:
            command = f"python -m benchmarks.reproduce {entry.system.split()[0]} --data {entry.data}"
            if any(variant.from_weights for variant in entry.variants.values()):
                command += f" --init {options.init}"
            try:
                with LiveTable() as view:
                    found = reproduce(
                        [entry], experiment.work / "reproduce",
                        first_look=options.quick, watcher=view, init=init, command=command, stamp=stamp,
                    )  # fmt: skip
            except UsageError as error:  # its data or its weights are missing; other lines can still be run
                print(f"{entry.system} on {entry.data} left out: {error}", file=sys.stderr)
                continue
            experiment.write_as_it_is(f"reproduce/{name_of(entry)}", result(found))


def time_of(entry: TableEntry, results: Path = RESULTS) -> str:
    """Say how long the runs of a line trained when they were measured."""
    file = results / "reproduce" / f"{name_of(entry)}.json"
    if not file.is_file():
        return NOT_YET
    line = read(file)
    seconds = [run["training_seconds"] for cell in line["cells"].values() for run in cell["runs"]]
    return f"{counted(len(seconds), 'run')} trained for {duration(sum(seconds))} when measured"


def result(found: Reproduction) -> dict[str, Any]:
    """Return the figures of a line. What all runs share is written once; the recipes are those of the commit."""
    (line,) = found.lines
    runs = [run for cell in line.cells for run in cell.runs]
    used = [{"threads": run.threads, **run.versions} for run in runs]
    return {
        "benchmark": "reproduce",
        "system": line.system,
        "data": line.data,
        "reported": line.reported,
        "test_rows": runs[0].test_rows,
        "test_sha256": runs[0].test_sha256,
        "cells": {cell.variant: _cell(cell) for cell in line.cells},
        "measured_with": [each for number, each in enumerate(used) if each not in used[:number]],
        **found.model_dump(include={"quick", "command", "machine", "created"}),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    """Return the figures of each run."""
    first = cell.runs[0]
    return {
        "recipe": first.recipe_name,
        "init": first.init,
        "validation_rows": first.validation_rows,
        "runs": [run.model_dump(include=OF_RUN, exclude_none=True) for run in cell.runs],
    }


if __name__ == "__main__":
    main()
