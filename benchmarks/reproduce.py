"""The table of the published systems: every run with its seed, versions, machine and commit.

    python -m benchmarks.reproduce                          # all of it: many hours
    python -m benchmarks.reproduce bui-dang-rows --data zhou

Systems, --data and --init are those of `glassformer reproduce`. Each line of the table becomes one JSON file in
benchmarks/results/reproduce.
"""

from __future__ import annotations

import sys

from benchmarks.experiment import arguments, processor, running
from benchmarks.tables_reproduce import name_of
from glassformer.cli.reproduce import LiveTable
from glassformer.errors import UsageError
from glassformer.experiments.published.reproduce import choose, reproduce
from glassformer.experiments.published.table import Line
from glassformer.training.initial_weights import read_initial_weights

LONG = 30  # epochs; of a longer run only the last one is written


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
        for entry in choose(options.systems, options.data, first_look=options.quick):
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
            (line,) = found.lines
            compact = found.model_copy(update={"lines": (_compact(line),)})
            experiment.write_text(f"reproduce/{name_of(line)}", compact.model_dump_json(indent=1))


def _compact(line: Line) -> Line:
    """Keep only the last epoch of a long run, and of each variant only the recipe of the first run."""
    cells = []
    for cell in line.cells:
        runs = [
            run.model_copy(update={"history": run.history if len(run.history) <= LONG else run.history[-1:]})
            for run in cell.runs
        ]
        runs[1:] = (run.model_copy(update={"recipe": {}}) for run in runs[1:])
        cells.append(cell.model_copy(update={"runs": tuple(runs)}))
    return line.model_copy(update={"cells": tuple(cells)})


if __name__ == "__main__":
    main()
