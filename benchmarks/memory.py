"""Memory and time of what `glassformer train` does with 1.6 million tweets, before its first step and around it.

    python -m benchmarks.memory
    python -m benchmarks.memory --rows 100000 --name try

The rows are generated: word frequencies by Zipf's law, handles, addresses, emoji, quotes, duplicates, some of them
with the other label. Each measurement is a process of its own. The phases are those of a run, one after another, each
with its own peak of resident memory (Linux: the kernel's high-water mark, set back before each). The command is the
real one: it is stopped by Ctrl-C after its first steps, then resumed to the end of a small budget.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.experiment import ROOT, Experiment

ROWS_PER_PART = 50_000
N_WORDS, N_HANDLES = 250_000, 150_000
SMILES = ["\U0001f600", "\U0001f62d", "\u2764\ufe0f", "\U0001f44d\U0001f3fd", ":-/", "<3"]
TRAINING = ("--preset", "tiny", "--set", "training.max_steps=2500")


def main() -> None:
    """Generate, measure, and write one JSON file; or be the measured process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_600_000)
    parser.add_argument("--name", default="memory-1.6m", help="of the result file")
    parser.add_argument("--phases-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phases_of is not None:
        print(json.dumps(run_phases(options.phases_of)))
        return
    experiment = Experiment()
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder), options.rows)
    load = round(os.getloadavg()[0], 2)
    experiment.write(
        options.name, {"benchmark": options.name, "rows": options.rows, **measured, "load_average_at_end": load}
    )


def measure(folder: Path, n_rows: int) -> dict[str, Any]:
    """The table as CSV and as Parquet, the phases of both, and the command on the CSV."""
    csv, parquet = folder / "tweets.csv", folder / "tweets.parquet"
    table = pl.concat(list(generate(n_rows)))
    table.write_csv(csv)
    table.write_parquet(parquet)
    measured: dict[str, Any] = {
        "table": _summary(table["text"]) | {p.suffix[1:]: _megabytes(p) for p in (csv, parquet)}
    }
    for path in (csv, parquet):
        done = _output(sys.executable, "-m", "benchmarks.memory", "--phases-of", str(path.absolute()))
        measured[f"phases_of_{path.suffix[1:]}"] = phases = json.loads(done)
        _say(f"{path.suffix[1:]}: peak {max(phase['peak_mib'] for phase in phases):,} MiB")
    measured["command_of_csv"] = run_command(csv, folder / "model")
    return measured


def generate(n_rows: int) -> Iterator[pl.DataFrame]:
    """Tweets and their labels, in parts; the same ones on every machine."""
    rng = np.random.default_rng(140)
    words = _names(rng, N_WORDS)
    handles = np.char.add("@", np.char.add(_names(rng, N_HANDLES), rng.integers(1, 99, N_HANDLES).astype(str)))
    earlier: list[str] = []
    for first in range(0, n_rows, ROWS_PER_PART):
        n_here = min(ROWS_PER_PART, n_rows - first)
        lengths = np.clip(rng.gamma(3.2, 3.9, n_here).round().astype(int), 1, 34)
        tokens = words[_zipf(rng, N_WORDS, lengths.sum())].tolist()
        ends = np.cumsum(lengths).tolist()
        texts = [" ".join(tokens[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
        named = handles[_zipf(rng, N_HANDLES, n_here)].tolist()
        chance, code = rng.random((n_here, 4)), rng.integers(0, 36**5, n_here)
        for i, (reply, address, smile, quote) in enumerate(chance.tolist()):
            texts[i] = f"{named[i]} {texts[i]}" if reply < 0.45 else texts[i]
            texts[i] += f" http://bit.ly/{np.base_repr(code[i], 36)}" if address < 0.04 else ""
            texts[i] += f" {SMILES[int(smile * 60)]}" if smile < 0.1 else ""
            texts[i] = f'so, she said "{texts[i]}" ' if quote < 0.05 else texts[i]
        for place in np.flatnonzero(rng.random(n_here) < 0.012).tolist() if earlier else ():
            texts[place] = earlier[place % len(earlier)]
        earlier = texts[:500]
        yield pl.DataFrame({"text": texts, "label": np.where(rng.random(n_here) < 0.5, "negative", "positive")})


def run_phases(path: Path) -> list[dict[str, Any]]:
    """What a run does before its first step, phase by phase, in this process."""
    phases: list[dict[str, Any]] = []

    def phase(name: str, work: Callable[[], Any]) -> Any:
        Path("/proc/self/clear_refs").write_text("5")  # sets the high-water mark back to what is resident now
        began = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - began
        phases.append({"phase": name, "seconds": round(seconds, 2)} | _resident())
        return result

    def imported() -> Any:
        pass

    phase("import", imported)
    from glassformer.data.sources import SourceConfig, read_sources
    from glassformer.data.splits import fingerprint
    from glassformer.training.memory import keep_large_buffers
    from glassformer.training.preparation import prepare
    from glassformer.training.recipe import load_recipe

    keep_large_buffers()
    recipe = load_recipe(None)
    sources = phase("read", lambda: read_sources(SourceConfig(train=str(path)), recipe.validation, None))
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        prepared = phase("label set and splits", lambda: prepare(sources, recipe, work=Path(folder)))
        splits = prepared.splits
        phase("fingerprints", lambda: [fingerprint(table) for table in (splits.train, splits.validation)])
        phase("tokenizer", lambda: prepared.tokenizer)
        phase("labels and texts encoded", lambda: prepared.data)
    return phases


def run_command(table: Path, out: Path) -> dict[str, Any]:
    """`glassformer train`, stopped by Ctrl-C when it was saved for the first time, then resumed to its end."""
    command = [sys.executable, "-m", "glassformer", "train", str(table), "--out", str(out), *TRAINING]
    shown = ["glassformer", "train", table.name, "--out", out.name, *TRAINING]
    stopped, _ = _watched(command, stop_when=out / "checkpoint" / "state.safetensors")
    resumed, said = _watched([*command, "--resume"])
    shutil.rmtree(out)
    step = re.search(r"resumed at step (\d+)", said)
    if step is None or (stopped["exit_status"], resumed["exit_status"]) != (1, 0):
        raise SystemExit(f"the command did not stop and resume: {stopped}, {resumed}")
    return {
        "command": " ".join(shown),
        "stopped_by_ctrl_c": stopped,
        "resumed_to_the_end": resumed | {"from_step": int(step[1])},
    }


def _watched(command: list[str], stop_when: Path | None = None) -> tuple[dict[str, Any], str]:
    """Runs a command, and returns its peak and what it said; presses Ctrl-C when `stop_when` appears."""
    began = time.perf_counter()
    # Not from getrusage: there a process begins with the peak of the one that started it.
    peak = 0
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        while process.poll() is None:
            peak = max(peak, _resident(process.pid)["peak_mib"])
            if stop_when is not None and stop_when.is_file():
                process.send_signal(signal.SIGINT)
                stop_when = None
            time.sleep(0.05)
        said.seek(0)
        words = said.read().decode()
    _say(words)
    seconds = round(time.perf_counter() - began, 1)
    return {"peak_mib": peak, "seconds": seconds, "exit_status": process.returncode}, words


def _summary(texts: pl.Series) -> dict[str, Any]:
    words = texts.str.extract_all(r"\S+")
    return {
        "mean_words": round(float(words.list.len().to_numpy().mean()), 2),
        "mean_characters": round(float(texts.str.len_chars().to_numpy().mean()), 1),
        "distinct_words": words.explode().n_unique(),
        "distinct_texts": texts.n_unique(),
    }


def _resident(process: int | str = "self") -> dict[str, int]:
    """Peak since the mark was set back, and what is resident now, in MiB; zeros for a process that has just ended."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmHWM", "VmRSS"))}
    return {"peak_mib": kib.get("VmHWM", 0) // 1024, "after_mib": kib.get("VmRSS", 0) // 1024}


def _names(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """Words of one to five syllables, short ones first, with numbers behind those that would occur twice."""
    syllables = np.array([a + b for a in "bcdfghjklmnprstvwyz" for b in ("a", "e", "i", "o", "u", "oo")])
    names = np.array([""] * count, dtype="<U16")
    n_syllables = 1 + np.minimum(np.log10(np.arange(1, count + 1)) * 0.7, rng.integers(1, 5, count)).astype(int)
    for place in range(5):
        drawn = syllables[rng.integers(0, len(syllables), count)]
        names = np.where(n_syllables > place, np.char.add(names, drawn), names).astype("<U16")
    first = np.zeros(count, dtype=bool)
    first[np.unique(names, return_index=True)[1]] = True
    return np.where(first, names, np.char.add(names, np.arange(count).astype(str)))


def _zipf(rng: np.random.Generator, n_values: int, count: int) -> np.ndarray[Any, Any]:
    """Ranks from 0, drawn in proportion to 1 / (rank + 3)."""
    weights = np.cumsum(1 / np.arange(3, n_values + 3))
    return np.searchsorted(weights, rng.random(count) * weights[-1])


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
