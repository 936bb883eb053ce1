"""How fast does our recipe train, beside two systems from the literature as their documents print them?

    python -m benchmarks.literal_speed

For each system: its literal recipe, the recipe that corrects it and keeps its width and depth, and our default. All
train and validate on the same rows, each with its own tokenizer, for the same seconds. Each contestant runs in a
process of its own, in turn, several times. The speed is that of the steps, without validation. The counting reader is
left out: it has no steps.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from statistics import mean, median
from typing import Any

from benchmarks.experiment import ROOT, Experiment, arguments, running
from benchmarks.models import read_splits
from glassformer.data.sources import Sources
from glassformer.experiments.published.systems import ENTRIES, TableEntry, VariantName
from glassformer.training.loop import Silent, StepReport, Trainer
from glassformer.training.preparation import prepare
from glassformer.training.recipe import load_recipe

SECONDS = {"sentiment140": 20.0, "notes-decoder": 10.0}  # of training each
OURS: VariantName = "default"
QUICK_SECONDS = 4.0
ROUNDS, UNTIMED_STEPS, SEED = 3, 5, 0

Figures = dict[str, Any]


def main() -> None:
    """Measure all contestants in turn, and write one JSON file."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--contestant", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with running(options) as experiment:
        if options.contestant:
            print(json.dumps(measure(experiment, *options.contestant)))
            return
        rounds, systems = 1 if experiment.quick else ROUNDS, []
        for system in SECONDS:
            entry = entry_of(system)
            found = summary([alternate(entry) for _ in range(rounds)])
            systems.append({"system": system, "data": entry.data, "seconds": _seconds(experiment, system)} | found)
        experiment.write("literal-speed", {"seed": SEED, "rounds": rounds, "systems": systems})


def entry_of(system: str) -> TableEntry:
    """Return the data and the recipes of a system, as `glassformer reproduce` has them."""
    return next(entry for entry in ENTRIES if entry.system == system)


def alternate(entry: TableEntry) -> dict[str, Figures]:
    """Train each variant of a system once, in a process of its own: variant → its figures."""
    found: dict[str, Figures] = {}
    for variant in entry.variants:
        command = [sys.executable, *sys.orig_argv[1:], "--contestant", entry.system, variant]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        found[variant] = json.loads(done.stdout.splitlines()[-1])
        print(f"{entry.system}, {variant}: {found[variant]['texts_per_second']:,.0f} texts/s", file=sys.stderr)
    return found


def summary(rounds: list[dict[str, Figures]]) -> Figures:
    """Return the figures of all rounds, and how many times as fast our default was in the same round."""
    variants = []
    for name, first in rounds[0].items():
        runs = [found[name] for found in rounds]
        ratios = [found[OURS]["texts_per_second"] / found[name]["texts_per_second"] for found in rounds]
        variants.append(
            {
                "variant": name,
                "parameters": first["parameters"],
                "batch_size": first["batch_size"],
                "texts_per_second": [round(run["texts_per_second"], 1) for run in runs],
                "ours_is_faster_by": {"median": median(ratios), "lowest": min(ratios), "highest": max(ratios)},
                "steps": median(run["steps"] for run in runs),
                "accuracy": [run["accuracy"] for run in runs],
            }
        )
    (rows,) = {found[name]["rows"] for found in rounds for name in found}
    (held_out,) = {found[name]["held_out_rows"] for found in rounds for name in found}
    return {"rows": rows, "held_out_rows": held_out, "variants": variants}


def measure(experiment: Experiment, system: str, variant: VariantName) -> Figures:
    """Train one variant for the seconds of its system."""
    entry = entry_of(system)
    settings: dict[str, Any] = {
        "validation.fraction": 0.1, "training.seed": SEED, "training.min_steps_per_epoch": 1,
        "training.max_seconds": _seconds(experiment, system),
    }  # fmt: skip
    if variant == OURS:
        settings["model.counting"] = "none"
    train, _ = read_splits(experiment, entry.data)
    prepared = prepare(Sources(train=train), load_recipe(entry.variants[variant].recipe, overrides=settings))
    rows, held_out = prepared.splits.train.frame.height, prepared.splits.validation
    assert held_out is not None
    steps = Steps()
    history = Trainer(prepared.model, prepared.task(), prepared.training, observer=steps).run()
    return {
        "rows": rows,
        "held_out_rows": held_out.frame.height,
        "parameters": prepared.parameters,
        "batch_size": prepared.training.batch_size,
        "texts_per_second": rows / steps.per_epoch / mean(steps.seconds[UNTIMED_STEPS:] or steps.seconds),
        "steps": int(history[-1]["step"]),
        "accuracy": history[-1]["validation_accuracy"],
    }


class Steps(Silent):
    """Times every step but the first of an epoch, before which the model was validated."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.per_epoch = 0
        self._last = 0.0

    def on_step(self, report: StepReport) -> None:
        now = time.perf_counter()
        if report.step_of_epoch > 1:
            self.seconds.append(now - self._last)
        self._last, self.per_epoch = now, report.steps_per_epoch


def _seconds(experiment: Experiment, system: str) -> float:
    return QUICK_SECONDS if experiment.quick else SECONDS[system]


if __name__ == "__main__":
    main()
