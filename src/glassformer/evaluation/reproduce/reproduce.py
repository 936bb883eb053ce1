"""Run the systems, or go on where an earlier call stopped, and put the table together."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from glassformer.data.files import written_aside
from glassformer.data.known import KNOWN, find
from glassformer.errors import UsageError
from glassformer.evaluation.reproduce import systems
from glassformer.evaluation.reproduce.runs import SystemRun, kept_run, run_folder, run_system
from glassformer.evaluation.reproduce.systems import Entry, Variant, VariantName, quick
from glassformer.evaluation.reproduce.table import Cell, Line, Reproduction, markdown
from glassformer.evaluation.result import Machine
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.loop import Observer
from glassformer.training.recipe import load_recipe

RESULTS_FILE, TABLE_FILE = "results.json", "table.md"


class Watcher(Protocol):
    """Hears how the table grows."""

    def on_line(self, name: str, runs: int) -> None:
        """A system begins, with so many runs."""

    def on_run(self, variant: VariantName, seed: int) -> Observer:
        """A run begins; what is returned hears its training."""

    def on_done(self, run: SystemRun) -> None:
        """A run is there, now or from before."""


def choose(names: Sequence[str], data: str | None, *, first_look: bool) -> list[Entry]:
    """The lines of the table that are asked for; all of them without names. A first look leaves out `imdb`.

    Raises:
        UsageError: no such system, or none of the named ones runs on that data set.
    """
    for name in names:
        if name not in systems.SYSTEMS:
            near = difflib.get_close_matches(name, systems.SYSTEMS, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise UsageError(f"no system {name!r}{hint}; there are {', '.join(systems.SYSTEMS)}")
    chosen = [one for one in systems.ENTRIES if not names or one.system.split()[0] in names]
    if data is not None:
        chosen = [one for one in chosen if one.data == data]
    elif first_look:
        chosen = [one for one in chosen if one.data != "imdb"]
    if not chosen:
        raise UsageError(f"--data {data}: {', '.join(names) or 'no system'} does not run on it")
    return [quick(one) for one in chosen] if first_look else chosen


def reproduce(
    entries: Sequence[Entry],
    out: Path,
    *,
    first_look: bool,
    watcher: Watcher,
    init: InitialWeights | None = None,
    data_dir: Path | None = None,
    device: str = "cpu",
    command: str = "",
    stamp: Mapping[str, str] | None = None,
) -> Reproduction:
    """Run what is not kept in `out` from before; write `results.json` and `table.md` there after each line.

    Args:
        init: the weights for systems that start from some; without them these are left out.
        stamp: what each new run notes among its versions, say the commit of a checkout.

    Raises:
        UsageError: nothing is left to run, as no data set is on this machine, or no weights are named.
        InterruptedTraining: on Ctrl-C; the same call goes on.
    """
    reasons = [_reason_to_leave_out(entry, init, data_dir) for entry in entries]
    left_out = tuple(dict.fromkeys(reason for reason in reasons if reason))
    if all(reasons):
        raise UsageError("; ".join(left_out))
    train = partial(run_system, data_dir=data_dir, device=device, stamp=stamp or {})
    lines: list[Line] = []
    for entry in (entry for entry, reason in zip(entries, reasons, strict=True) if reason is None):
        watcher.on_line(f"{entry.system} · {entry.data}", sum(variant.seeds for variant in entry.variants.values()))
        cells = [
            Cell(
                variant=name,
                runs=tuple(
                    _runs(name, variant, entry.data, out, init if variant.from_weights else None, train, watcher)
                ),
            )
            for name, variant in entry.variants.items()
        ]
        lines.append(Line(system=entry.system, data=entry.data, reported=entry.reported, cells=tuple(cells)))
        found = Reproduction(
            quick=first_look,
            lines=tuple(lines),
            left_out=left_out,
            machine=Machine.here(),
            command=command,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        _write(out, found)
    return found


def _reason_to_leave_out(entry: Entry, init: InitialWeights | None, data_dir: Path | None) -> str | None:
    if KNOWN[entry.data].files and find(entry.data, "train", data_dir) is None:
        return f"{entry.data} is not on this machine: glassformer data get {entry.data}"
    if init is None and any(variant.from_weights for variant in entry.variants.values()):
        return f"{entry.system} starts from pre-trained weights, which do not come along: name some with --init hf:NAME"
    return None


def _runs(
    name: VariantName,
    variant: Variant,
    data: str,
    out: Path,
    init: InitialWeights | None,
    train: Callable[..., SystemRun],
    watcher: Watcher,
) -> Iterator[SystemRun]:
    """One run per seed, those kept from before as they are."""
    recipe_name = variant.recipe or "default"
    for seed in range(variant.seeds):
        recipe = load_recipe(variant.recipe, overrides={**variant.overrides, "training.seed": seed}, init=init)
        folder = run_folder(out, recipe_name, data, recipe, init)
        observer = watcher.on_run(name, seed)
        run = kept_run(folder) or train(recipe_name, data, recipe, folder, init=init, observer=observer)
        watcher.on_done(run)
        yield run


def _write(out: Path, found: Reproduction) -> None:
    with written_aside(out / RESULTS_FILE) as aside:
        aside.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    with written_aside(out / TABLE_FILE) as aside:
        aside.write_text(markdown(found.lines) + "\n", encoding="utf-8")
