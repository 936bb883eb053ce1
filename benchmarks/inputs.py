"""What do columns beside the text give, and can two texts be compared?

    python -m benchmarks.inputs
    python -m benchmarks.inputs --quick

Each table is read in one or two ways, such as the text alone and with its columns, and a model is trained with each
seed. TF-IDF + logistic regression gets the same inputs. The test rows only show the result. `sick` is read from the
data folder (`sick/train.parquet` and `sick/test.parquet`). Finished models are kept in the work folder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import QUICK_ROWS, apart_from, classifier
from benchmarks.paired import over_rows
from benchmarks.tables_inputs import inputs_tables
from glassformer.data.known import KNOWN, data_folders
from glassformer.data.labels import LabelSet
from glassformer.data.sources import SourceConfig, Sources, read_sources
from glassformer.data.splits import ValidationConfig, fingerprint
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.evaluation.baselines import TfidfBaseline
from glassformer.evaluation.input_shares import input_shares
from glassformer.evaluation.measured import measures_of
from glassformer.evaluation.robustness import answers_of
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

PRESET, SEEDS = "small", (0, 1, 2)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A table, and the ways to read it: the columns of other texts, and those beside the texts."""

    name: str
    text: str
    label: str
    ways: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


ENTRIES = (
    Entry(name="sick", text="sentence_a", label="entailment", ways=((("sentence_b",), ()),)),
    Entry(name="disaster-tweets", text="text", label="label", ways=(((), ()), ((), ("keyword", "location")))),
)


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        lines = [found for entry in ENTRIES for found in _lines(experiment, entry)]
        document = {"preset": PRESET, "seeds": SEEDS, "lines": lines}
        experiment.write("inputs", document, inputs_tables)


def _lines(experiment: Experiment, entry: Entry) -> list[dict[str, Any]]:
    """Return a line for each way to read a table. The gain is over the first way."""
    found, first = [], None
    for others, columns in entry.ways:
        line, right = _line(experiment, entry, others, columns)
        if first is not None:
            line["gain"], line["baseline_gain"] = over_rows(right[0] - first[0]), over_rows(right[1] - first[1])
        first = right if first is None else first
        found.append(line)
        print(f"{entry.name}, {', '.join(line['inputs'])}: {line['accuracy']['value']:.4f}", flush=True)
    return found


def _line(
    experiment: Experiment, entry: Entry, others: tuple[str, ...], columns: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[np.ndarray, np.ndarray]]:
    """Return the figures of a way to read a table, and which test rows are right: of all seeds, and by the baseline."""
    sources = _read(experiment, entry, others, columns)
    train, test = sources.train, sources.test
    assert test is not None
    names = LabelSet.from_table(train)
    truth, rows = names.encode(test), test.frame["text"].to_list()
    runs = [_run(experiment, entry, sources, seed) for seed in SEEDS]
    right = np.mean([run["answers"] == truth for run in runs], axis=0)
    learned = apart_from(test, train)
    baseline = TfidfBaseline(len(names.names)).fit(learned.frame["text"].to_list(), names.encode(learned))
    by_baseline = (baseline.answers(rows).argmax(axis=1) == truth).astype(np.float64)
    line = {
        "table": entry.name,
        "inputs": [entry.text, *others, *columns],
        "training_rows": train.frame.height,
        "test_rows": len(rows),
        "test_sha256": fingerprint(test),
        "accuracy": over_rows(right),
        "of_seeds": [float((run["answers"] == truth).mean()) for run in runs],
        "readers": {name: float(np.mean([(run[name] == truth).mean() for run in runs])) for name in _READERS},
        "majority": float(np.bincount(truth).max() / len(truth)),
        "baseline": over_rows(by_baseline),
        "baseline_description": baseline.description,
        "over_baseline": over_rows(right - by_baseline),
        "without": _shares(runs),
    }
    return line, (right, by_baseline)


_READERS = ("counting", "transformer")


def _read(experiment: Experiment, entry: Entry, others: tuple[str, ...], columns: tuple[str, ...]) -> Sources:
    known = entry.name in KNOWN
    config = SourceConfig(
        train=entry.name if known else str(_file(entry, "train")),
        test=None if known else str(_file(entry, "test")),
        text=entry.text,
        label=None if known else entry.label,
        other_texts=others,
        columns=columns,
    )
    sources = read_sources(config, ValidationConfig(), None)
    if not experiment.quick or sources.test is None:
        return sources
    return replace(sources, train=_some(sources.train), test=_some(sources.test))


def _file(entry: Entry, split: str) -> Path:
    paths = [folder / entry.name / f"{split}.parquet" for folder in data_folders()]
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        raise UsageError(
            f"{entry.name}/{split}.parquet is not in {', '.join(str(path.parent.parent) for path in paths)}"
        )
    return found


def _some(table: Table) -> Table:
    return replace(table, frame=table.frame.sample(min(QUICK_ROWS, table.frame.height), seed=0))


def _run(experiment: Experiment, entry: Entry, sources: Sources, seed: int) -> dict[str, Any]:
    """Train with a seed, or read the kept model, and return its answers to the test rows, by both readers and alone."""
    recipe = load_recipe(None, preset=PRESET, overrides={"training.seed": seed})
    folder = classifier(experiment, f"inputs/{entry.name}-{seed}", recipe, sources.train, sources.test)
    predictor = Predictor.load(folder)
    trained = predictor.trained
    assert sources.test is not None
    assert trained.counting is not None
    rows, labels = sources.test.frame["text"].to_list(), trained.config.label_set.encode(sources.test)
    found: dict[str, Any] = {
        "answers": predictor.logits(rows).argmax(axis=1),
        "counting": trained.counting.scores(rows).argmax(axis=1),
        "transformer": predictor.alone("transformer", rows).argmax(axis=1),
        "shares": (),
    }
    if trained.config.inputs is not None:
        measured = measures_of(trained.config).answered(predictor, sources.test, labels, predictor.scores(rows))
        found["shares"] = input_shares(partial(answers_of, predictor), measured, trained.config.inputs)
    return found


def _shares(runs: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return for each input the mean accuracy after its values were permuted, and what it gives, over the seeds."""
    of_seeds = zip(*(run["shares"] for run in runs), strict=True)
    return {
        shares[0].name: {
            "accuracy": float(np.mean([share.accuracy_without for share in shares])),
            "gain": float(np.mean([share.gain.value for share in shares])),
            "low": float(np.mean([share.gain.low for share in shares])),
            "high": float(np.mean([share.gain.high for share in shares])),
        }
        for shares in of_seeds
    }


if __name__ == "__main__":
    main()
