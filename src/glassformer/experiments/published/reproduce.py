"""Run the systems, or continue where an earlier call stopped, and write the table."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

from glassformer.data.files import write_aside
from glassformer.data.known import KNOWN, find
from glassformer.data.wording import did_you_mean
from glassformer.errors import UsageError
from glassformer.evaluation.record import Machine
from glassformer.experiments.keeper import read_kept
from glassformer.experiments.published import systems
from glassformer.experiments.published.system_run import RUN_FILE, Rows, SystemRun, run_folder, run_system
from glassformer.experiments.published.systems import SystemVariant, TableEntry, VariantName, quick
from glassformer.experiments.published.table import Cell, Line, Reproduction, markdown, rows
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.loop import Observer
from glassformer.training.recipe import load_recipe

RESULTS_FILE, TABLE_FILE = "results.json", "table.md"


class TableWatcher(Protocol):
    """Is told about the progress of the table."""

    def on_line(self, name: str, runs: int) -> None:
        """A system begins. `runs` is its number of runs."""

    def on_run(self, variant: VariantName, seed: int) -> Observer:
        """A run begins. The returned observer is told about its training."""

    def on_done(self, run: SystemRun) -> None:
        """A run is finished, now or by an earlier call."""


def choose(names: Sequence[str], data: str | None, *, first_look: bool) -> list[TableEntry]:
    """Return the entries of the named systems, or all entries if no system is named. A first look leaves out `imdb`.

    Raises:
        UsageError: there is no such system, or none of the named systems runs on that data set.
    """
    for name in names:
        if name not in systems.SYSTEMS:
            hint = did_you_mean(name, systems.SYSTEMS)
            raise UsageError(f"no system {name!r}; choose from {', '.join(systems.SYSTEMS)}.{hint}")
    if data is not None and data not in (known := dict.fromkeys(entry.data for entry in systems.ENTRIES)):
        raise UsageError(f"`data={data!r}`: no system runs on it; choose one of {', '.join(known)}")
    chosen = [entry for entry in systems.ENTRIES if not names or entry.system.split()[0] in names]
    if data is not None:
        chosen = [entry for entry in chosen if entry.data == data]
    elif first_look:
        chosen = [entry for entry in chosen if entry.data != "imdb"]
    if not chosen:
        raise UsageError(f"`data={data!r}`: {', '.join(names)} {'does' if len(names) == 1 else 'do'} not run on it")
    return [quick(entry) for entry in chosen] if first_look else chosen


def check_init(entries: Sequence[TableEntry]) -> None:
    """Refuse weights to start from if none of these systems uses them.

    Raises:
        UsageError: none of the systems starts from weights.
    """
    if not any(variant.from_weights for entry in entries for variant in entry.variants.values()):
        named = ", ".join(dict.fromkeys(entry.system.split()[0] for entry in entries))
        users = {entry.system for entry in systems.ENTRIES for v in entry.variants.values() if v.from_weights}
        raise UsageError(f"`init=`: {named} starts from no weights; {', '.join(sorted(users)) or 'no system'} does")


def reproduce(
    entries: Sequence[TableEntry],
    out: Path,
    *,
    first_look: bool,
    watcher: TableWatcher,
    init: InitialWeights | None = None,
    data_dir: Path | None = None,
    device: str = "cpu",
    command: str = "",
    stamp: Mapping[str, str] | None = None,
) -> Reproduction:
    """Run every run that `out` does not hold yet. Write `results.json` and `table.md` there after each line.

    Args:
        init: the weights for systems that start from weights. Without them these systems are left out.
        stamp: is added to the versions of each new run, for example the commit of a checkout.

    Raises:
        UsageError: nothing can be run, because data sets or weights are missing.
        InterruptedTraining: on Ctrl-C. The same call continues.
    """
    reasons = [_reason_to_leave_out(entry, init, data_dir) for entry in entries]
    left_out = tuple(dict.fromkeys(reason for reason in reasons if reason))
    if all(reasons):
        raise UsageError("; ".join(left_out))
    read = cache(partial(Rows.read, data_dir=data_dir))

    def runs_of(name: VariantName, variant: SystemVariant, data: str) -> Iterator[SystemRun]:
        """Run a variant with each seed. Runs that are kept already are read."""
        recipe_name, rows = variant.recipe or "default", read(data)
        start = init if variant.from_weights else None
        for seed in range(variant.seeds):
            recipe = load_recipe(variant.recipe, overrides={**variant.overrides, "training.seed": seed}, init=start)
            folder = run_folder(out, recipe_name, recipe, rows, start, device)
            how: dict[str, Any] = {"init": start, "device": device, "observer": watcher.on_run(name, seed)}
            run = read_kept(folder / RUN_FILE, SystemRun) or run_system(
                recipe_name, rows, recipe, folder, **how, stamp=stamp or {}
            )
            watcher.on_done(run)
            yield run

    lines: list[Line] = []
    for entry in (entry for entry, reason in zip(entries, reasons, strict=True) if reason is None):
        watcher.on_line(f"{entry.system} · {entry.data}", sum(variant.seeds for variant in entry.variants.values()))
        cells = [
            Cell(variant=name, runs=tuple(runs_of(name, variant, entry.data)))
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
        write_aside(out / RESULTS_FILE, found.model_dump_json(indent=2) + "\n")
        write_aside(out / TABLE_FILE, markdown(rows(found.lines)) + "\n")
    return found


def _reason_to_leave_out(entry: TableEntry, init: InitialWeights | None, data_dir: Path | None) -> str | None:
    if KNOWN[entry.data].files and find(entry.data, "train", data_dir) is None:
        return f"{entry.data} is not on this machine: glassformer data get {entry.data}"
    if init is None and any(variant.from_weights for variant in entry.variants.values()):
        return f"{entry.system} starts from pre-trained weights, which are not included: `init='hf:NAME'` names them"
    return None
