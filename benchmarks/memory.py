"""How much memory and time does `glassformer train` need for 1.6 million tweets?

    python -m benchmarks.memory

The tweets are generated: word frequencies by Zipf's law, handles, addresses, emoji, quotes, and duplicates, some of
them with the other label. A first process does what a run does before its first step, and notes the peak of resident
memory of each phase (Linux: the kernel's high-water mark, reset before each phase). Then the command itself runs. It is
stopped by Ctrl-C after its first checkpoint, and resumed until its small budget of steps is used up.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.experiment import ROOT, arguments, running

N_ROWS, QUICK_ROWS = 1_600_000, 20_000
ROWS_PER_PART = 50_000
N_WORDS, N_HANDLES = 250_000, 150_000
SMILES = ["\U0001f600", "\U0001f62d", "\u2764\ufe0f", "\U0001f44d\U0001f3fd", ":-/", "<3"]
TRAINING = ("--preset", "tiny", "--set", "training.max_steps=2500", "--set", "model.counting=none")
STOPPED = 130  # the exit code after Ctrl-C
PHASES = "import json, sys; from benchmarks.memory import run_phases; print(json.dumps(run_phases(sys.argv[1])))"


def main() -> None:
    """Generate the tweets, measure, and write one JSON file."""
    options = arguments(__doc__, data=False).parse_args()
    n_rows = QUICK_ROWS if options.quick else N_ROWS
    with running(options) as experiment, tempfile.TemporaryDirectory() as folder:
        found = {"rows": n_rows, **measure(Path(folder), n_rows)}
        experiment.write("memory-1.6m", found | {"load_average_at_end": round(os.getloadavg()[0], 2)})


def measure(folder: Path, n_rows: int) -> dict[str, Any]:
    """Measure the phases on the table as CSV and as Parquet, and the command on the CSV."""
    csv, parquet = folder / "tweets.csv", folder / "tweets.parquet"
    table = pl.concat(list(generate(n_rows)))
    table.write_csv(csv)
    table.write_parquet(parquet)
    sizes = {file.suffix[1:]: f"{file.stat().st_size / 1e6:.1f} MB" for file in (csv, parquet)}
    measured: dict[str, Any] = {"table": describe(table["text"]) | sizes}
    for file in (csv, parquet):
        done = subprocess.run([sys.executable, "-c", PHASES, str(file)], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        measured[f"phases_of_{file.suffix[1:]}"] = json.loads(done.stdout)
    measured["command_of_csv"] = run_command(csv, folder / "model")
    return measured


def describe(texts: pl.Series) -> dict[str, Any]:
    words = texts.str.extract_all(r"\S+")
    return {
        "mean_words": round(float(words.list.len().to_numpy().mean()), 2),
        "mean_characters": round(float(texts.str.len_chars().to_numpy().mean()), 1),
        "distinct_words": words.explode().n_unique(),
        "distinct_texts": texts.n_unique(),
    }


def generate(n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield tweets and their labels in parts. They are the same on every machine."""
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


def run_phases(path: str) -> list[dict[str, Any]]:
    """Do what a run does before its first step, in this process, and measure each phase."""
    phases: list[dict[str, Any]] = []

    def phase(name: str, work: Callable[[], Any]) -> Any:
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark to what is resident now
        began = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - began
        phases.append({"phase": name, "seconds": round(seconds, 2)} | _resident())
        return result

    phase("import", lambda: import_module("glassformer.training.preparation"))
    from glassformer.data.sources import SourceConfig, read_sources
    from glassformer.data.splits import fingerprint
    from glassformer.training.memory import keep_large_buffers
    from glassformer.training.preparation import prepare
    from glassformer.training.recipe import load_recipe

    keep_large_buffers()
    recipe = load_recipe(None)
    sources = phase("read", lambda: read_sources(SourceConfig(train=path), recipe.validation, None))
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        prepared = phase("label set and splits", lambda: prepare(sources, recipe, work=Path(folder)))
        splits = prepared.splits
        phase("fingerprints", lambda: [fingerprint(table) for table in (splits.train, splits.validation)])
        phase("tokenizer", lambda: prepared.tokenizer)
        phase("labels and texts encoded", lambda: prepared.data)
    return phases


def run_command(table: Path, out: Path) -> dict[str, Any]:
    """Run `glassformer train`, stop it by Ctrl-C after its first checkpoint, and resume it to its end."""
    command = ["train", str(table), "--out", str(out), *TRAINING]
    stopped, _ = watched(command, stop_when=out / "checkpoint" / "state.safetensors")
    resumed, messages = watched([*command, "--resume"])
    step = re.search(r"resumed at step (\d+)", messages)
    if step is None or (stopped["exit_status"], resumed["exit_status"]) != (STOPPED, 0):
        raise SystemExit(f"the command did not stop and resume: {stopped}, {resumed}")
    return {
        "command": " ".join(["glassformer", "train", table.name, "--out", out.name, *TRAINING]),
        "stopped_by_ctrl_c": stopped,
        "resumed_to_the_end": resumed | {"from_step": int(step[1])},
    }


def watched(command: list[str], stop_when: Path | None = None) -> tuple[dict[str, Any], str]:
    """Run a command, press Ctrl-C when the file `stop_when` appears, and return its peak and its messages."""
    began = time.perf_counter()
    # getrusage would not do: its peak begins with that of the process that started the command.
    peak = 0
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "glassformer", *command], stdout=subprocess.DEVNULL, stderr=stderr
        )
        while process.poll() is None:
            peak = max(peak, _resident(process.pid)["peak_mib"])
            if stop_when is not None and stop_when.is_file():
                process.send_signal(signal.SIGINT)
                stop_when = None
            time.sleep(0.05)
        stderr.seek(0)
        messages = stderr.read().decode()
    print(messages, file=sys.stderr)
    seconds = round(time.perf_counter() - began, 1)
    return {"peak_mib": peak, "seconds": seconds, "exit_status": process.returncode}, messages


def _resident(process: int | str = "self") -> dict[str, int]:
    """Return the peak since the mark was reset, and what is resident now, in MiB; zeros if the process has ended."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmHWM", "VmRSS"))}
    return {"peak_mib": kib.get("VmHWM", 0) // 1024, "after_mib": kib.get("VmRSS", 0) // 1024}


def _names(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """Make words of one to five syllables, short ones first. A word that would occur twice gets a number."""
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
    """Draw ranks from 0 with probabilities in proportion to 1 / (rank + 3)."""
    weights = np.cumsum(1 / np.arange(3, n_values + 3))
    return np.searchsorted(weights, rng.random(count) * weights[-1])


if __name__ == "__main__":
    main()
