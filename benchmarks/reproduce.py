"""The table of the published systems, written down: every run with its seed, versions, machine and commit.

    python -m benchmarks.reproduce                          # all of it: many hours
    python -m benchmarks.reproduce bui-dang-rows --data zhou

Takes systems and --data as `glassformer reproduce` does, keeps its runs in --out and goes on from there, and writes one
JSON file per line of the table into benchmarks/results/reproduce.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.experiment import RESULTS, commit, processor
from glassformer.cli.reproduce import LiveTable
from glassformer.errors import UsageError
from glassformer.experiments.published.reproduce import choose, reproduce
from glassformer.experiments.published.table import Line, Reproduction, rows
from glassformer.training.initial_weights import read_initial_weights
from glassformer.training.loop import InterruptedTraining


def main() -> None:
    """Run what is asked for, and write a file per line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*")
    parser.add_argument("--data")
    parser.add_argument("--init", help="weights for vinh-transfer, as in `glassformer train --init`")
    parser.add_argument("--out", type=Path, default=Path("runs/reproduce"))
    options = parser.parse_args()
    init = None if options.init is None else read_initial_weights(options.init)
    stamp = {"commit": commit(), "processor": processor()}
    for entry in choose(options.systems, options.data, first_look=False):
        command = f"python -m benchmarks.reproduce {entry.system.split()[0]} --data {entry.data}"
        command += f" --init {options.init}" if any(variant.from_weights for variant in entry.variants.values()) else ""
        try:
            with LiveTable() as view:
                found = reproduce(
                    [entry], options.out, first_look=False, watcher=view, init=init, command=command, stamp=stamp
                )
        except UsageError as error:  # its data or weights are not at hand; the other lines are
            print(f"{entry.system} on {entry.data} left out: {error}", file=sys.stderr)
            continue
        except (InterruptedTraining, KeyboardInterrupt):
            sys.exit(f"stopped; what is done is kept in {options.out}")
        _write(found)
        for row in rows(found.lines):
            print(" · ".join(row))


def _write(found: Reproduction) -> None:
    folder = RESULTS / "reproduce"
    folder.mkdir(parents=True, exist_ok=True)
    for line in found.lines:
        of_line = found.model_copy(update={"lines": (_compact(line),)})
        file = folder / f"{line.system.replace(' ', '-')}-{line.data}.json"
        file.write_text(of_line.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _compact(line: Line) -> Line:
    """With the last epoch alone of runs of more than thirty, and the recipe once for all seeds."""
    cells = []
    for cell in line.cells:
        runs = [
            run.model_copy(
                update={
                    "history": run.history if len(run.history) <= 30 else run.history[-1:],
                    "recipe": run.recipe if number == 0 else {},
                }
            )
            for number, run in enumerate(cell.runs)
        ]
        cells.append(cell.model_copy(update={"runs": tuple(runs)}))
    return line.model_copy(update={"cells": tuple(cells)})


if __name__ == "__main__":
    main()
