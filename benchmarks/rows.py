"""What does a large table cost? Seconds and memory of each phase of `train`, from 1,000 rows to ten million.

    python -m benchmarks.rows

The tweets are generated: word frequencies by Zipf's law, handles, addresses, emoji, quotes, and duplicates. Each word
leans to one of two labels. A process for each table does what a run does until its first steps, and notes the peak of
resident memory of each phase (Linux: the kernel's high-water mark, reset before each phase). Another one watches its
anonymous memory: that of mapped files, which the kernel may drop, is not counted. At last, a table is split by 400,000
groups.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.experiment import ROOT, arguments, running

ROWS, QUICK_ROWS = (1_000, 100_000, 10_000_000), (2_500, 5_000)
GROUPS, QUICK_GROUPS = 400_000, 2_000
ROWS_PER_PART = 50_000
N_WORDS, N_HANDLES = 250_000, 150_000
SMILES = ["\U0001f600", "\U0001f62d", "\u2764\ufe0f", "\U0001f44d\U0001f3fd", ":-/", "<3"]
SECONDS_OF_STEPS = 10
PHASES = "import json, sys; from benchmarks.rows import run_phases; print(json.dumps(run_phases(sys.argv[1])))"


def main() -> None:
    """Generate the tweets, measure, and write one JSON file."""
    options = arguments(__doc__, data=False).parse_args()
    sizes, n_groups = (QUICK_ROWS, QUICK_GROUPS) if options.quick else (ROWS, GROUPS)
    with running(options) as experiment, tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), sizes) | {"groups": split_by_groups(n_groups)}
        experiment.write("rows", found | {"load_average_at_end": round(os.getloadavg()[0], 2)})


def measure(folder: Path, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Measure the phases for each number of rows."""
    whole, lines = pl.concat(list(generate(max(sizes)))), []
    for n_rows in sizes:
        file = folder / f"{n_rows}.parquet"
        some = whole.head(n_rows)
        some.write_parquet(file)
        phases = watched([sys.executable, "-c", PHASES, str(file)])
        texts_mb = round(int(some["text"].str.len_bytes().sum()) / 1e6, 2)
        lines.append({"rows": n_rows, "texts_mb": texts_mb, "phases": phases})
    return {"lines": lines, "table": describe(whole["text"])}


def watched(command: list[str]) -> list[dict[str, Any]]:
    """Return the phases that a process prints, with the peak of its anonymous memory in each."""
    seen: list[tuple[float, int]] = []
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, cwd=ROOT, stdout=said) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            kib = [int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("RssAnon")]
            seen += [(time.monotonic(), each) for each in kib]  # there is none after the end
            time.sleep(0.02)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        said.seek(0)
        return with_peaks(json.loads(said.read()), seen)


def with_peaks(phases: list[dict[str, Any]], seen: Sequence[tuple[float, int]]) -> list[dict[str, Any]]:
    """Return phases with the largest of the KiB that were seen between their begin and their end."""
    for phase in phases:
        began, ended = phase.pop("began"), phase.pop("ended")
        phase["anonymous_mib"] = max((kib for at, kib in seen if began <= at <= ended), default=0) // 1024
    return phases


def describe(texts: pl.Series) -> dict[str, Any]:
    words = texts.str.extract_all(r"\S+")
    return {
        "mean_words": round(float(words.list.len().to_numpy().mean()), 2),
        "mean_characters": round(float(texts.str.len_chars().to_numpy().mean()), 1),
        "distinct_words": words.explode().n_unique(),
        "distinct_texts": texts.n_unique(),
    }


def split_by_groups(n_groups: int) -> dict[str, Any]:
    """Measure a split by groups with 1, 2, 3 or 4 rows each."""
    from glassformer.data.splits import ValidationConfig, make_splits
    from glassformer.data.table import Table

    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(n_groups), rng.integers(1, 5, n_groups))
    label = np.where(rng.random(len(group)) < rng.random(n_groups)[group], "negative", "positive")  # groups differ
    frame = pl.DataFrame({"text": np.arange(len(group)).astype(str), "label": label, "group": group.astype(str)})
    table = Table(frame=frame.with_row_index("row", offset=1), source="", text_column="text", label_column="label")
    began, computed = time.perf_counter(), time.process_time()
    splits = make_splits(table, ValidationConfig(group="group"), seed=0)
    seconds, computed = time.perf_counter() - began, time.process_time() - computed
    assert splits.validation is not None
    return {
        "groups": n_groups,
        "rows": len(group),
        "seconds": round(seconds, 1),
        "core_seconds": round(computed, 1),
        "held_out": round(splits.validation.frame.height / len(group), 4),
        "positive": [
            round(float((part.frame["label"] == "positive").to_numpy().mean()), 4)
            for part in (splits.train, splits.validation)
        ],
    }


def generate(n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield tweets and their labels in parts. They are the same on every machine."""
    rng = np.random.default_rng(140)
    leaning = np.random.default_rng(141).normal(0, 0.5, N_WORDS)  # the logit that each word adds
    words = _names(rng, N_WORDS)
    handles = np.char.add("@", np.char.add(_names(rng, N_HANDLES), rng.integers(1, 99, N_HANDLES).astype(str)))
    earlier: list[str] = []
    for first in range(0, n_rows, ROWS_PER_PART):
        n_here = min(ROWS_PER_PART, n_rows - first)
        lengths = np.clip(rng.gamma(3.2, 3.9, n_here).round().astype(int), 1, 34)
        drawn = _zipf(rng, N_WORDS, lengths.sum())
        tokens, ends = words[drawn].tolist(), np.cumsum(lengths).tolist()
        logits = np.add.reduceat(leaning[drawn], [0, *ends[:-1]])
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
        positive = rng.random(n_here) < 1 / (1 + np.exp(-logits))
        yield pl.DataFrame({"text": texts, "label": np.where(positive, "positive", "negative")})


def run_phases(path: str) -> list[dict[str, Any]]:
    """Do what a run does until its first steps, in this process, and measure each phase."""
    phases: list[dict[str, Any]] = []

    def phase(name: str, work: Callable[[], Any]) -> Any:
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark to what is resident now
        began, computed = time.monotonic(), time.process_time()
        result = work()
        ended = time.monotonic()
        seconds = {"seconds": round(ended - began, 2), "core_seconds": round(time.process_time() - computed, 2)}
        phases.append({"phase": name, "began": began, "ended": ended} | seconds | _resident())
        return result

    phase("import", lambda: import_module("glassformer.training.run"))
    from glassformer.data.arrays import mapping_in
    from glassformer.data.sources import SourceConfig, read_sources
    from glassformer.targets.labels.training_readers import lessons_of
    from glassformer.training.loop import Silent
    from glassformer.training.preparation import prepare
    from glassformer.training.readers import learn_readers
    from glassformer.training.recipe import load_recipe
    from glassformer.training.unlike import learn_seen

    recipe = load_recipe(None)
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder, mapping_in(Path(folder)):
        sources = phase("read", lambda: read_sources(SourceConfig(train=path), recipe.validation, None))
        prepared = phase("split", lambda: prepare(sources, recipe, work=Path(folder)))
        phase("vocabulary", lambda: prepared.tokenizer)
        phase("encode", lambda: prepared.data)
        phase("counting", lambda: learn_readers(prepared, lessons_of, Silent()))
        phase("unlike", lambda: learn_seen(prepared.splits.train, prepared.splits.validation))
        speed = phase("steps", lambda: _steps_per_second(prepared))
        phases[-1]["steps_per_second"] = round(speed, 2)
    return phases


def _steps_per_second(prepared: Any) -> float:
    """Take steps of training for some seconds, without answering validation rows."""
    from dataclasses import replace

    from glassformer.training.classification import Classification
    from glassformer.training.loop import Trainer

    config = prepared.recipe.training.model_copy(update={"max_seconds": SECONDS_OF_STEPS})
    rows = replace(prepared.data, validation=None, validation_labels=None)
    task = Classification(rows, config, max_seq_len=prepared.recipe.model.max_seq_len)
    trainer = Trainer(prepared.model, task, config)
    history = trainer.run()
    return float(history[-1]["step"] / trainer.state.seconds)


def _resident() -> dict[str, int]:
    """Return the peak since the mark was reset, and what is resident now, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmHWM", "VmRSS"))}
    return {"peak_mib": kib["VmHWM"] // 1024, "after_mib": kib["VmRSS"] // 1024}


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
