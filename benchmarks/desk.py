"""How good is a model after so many labels at the desk, and after as many texts drawn at random? A simulation.

    python -m benchmarks.desk
    python -m benchmarks.desk --quick

Only training rows are read. A fifth of them is held out. The true label stands for the person: it is never wrong, no
suggestion sways it, and a text takes the seconds that the desk expects at first. Texts come as at the desk: the model
of the last round chooses three of four. The rounds begin where they begin at the desk, and at the numbers of labels
that are reported; the model is `TextClassifier` with its defaults, but without its transformer: then a round takes
seconds, and so few labels give it no weight. Both ways answer the same held-out rows. Finished lines are kept in the
work folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks.bench_data import hold_out_fifth, read_rows, some_rows
from benchmarks.experiment import arguments, running
from benchmarks.tables_desk import desk_tables
from glassformer import TextClassifier
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.desk.choosing import expected_seconds, next_text, suggestions
from glassformer.desk.inputs_read import InputsRead
from glassformer.desk.project import Project
from glassformer.desk.rounds import Rounds
from glassformer.desk.schema import Decision

TABLES = ("trec", "customer-reviews", "disaster-tweets")
SEEDS = range(3)
SIZES = (50, 100, 200, 500, 1_000)
MOST, QUICK_ROWS, QUICK_SIZES = 3_000, 200, (20, 30)
WAYS = ("desk", "random")


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        lines, sizes = [], QUICK_SIZES if experiment.quick else SIZES
        for seed in SEEDS[:1] if experiment.quick else SEEDS:
            for data in TABLES:
                train, held_out = hold_out_fifth(read_rows(data, "train"), seed)
                train = some_rows(train, QUICK_ROWS if experiment.quick else MOST, seed)
                rows = {"rows": train.frame.height, "held_out": held_out.frame.height}
                for way in WAYS:
                    made_of = {"train": fingerprint(train), "held_out": fingerprint(held_out), "seed": seed, "way": way}
                    make = partial(simulated, train, held_out, way, seed, sizes)
                    found = experiment.kept(f"desk/{data}-{way}-{seed}", made_of, make)
                    lines.append({"table": data, "seed": seed, "way": way, **rows, "rounds": found})
                    print(lines[-1], flush=True)
        experiment.write("desk", {"sizes": list(sizes), "lines": lines}, desk_tables)


def simulated(train: Table, held_out: Table, way: str, seed: int, sizes: tuple[int, ...]) -> list[list[float]]:
    """Return of each round the number of labels, the accuracy on the held-out rows and the minutes of labelling."""
    with TemporaryDirectory() as folder:
        table = Path(folder) / "texts.csv"
        rows = train.frame.sample(fraction=1, shuffle=True, seed=seed)  # the desk draws rows with a seed of its own
        rows.select("text").write_csv(table)
        with Project.opened(Path(folder) / "desk", table) as project:
            return list(_rounds(project, rows, held_out, way, seed, sizes))


def _rounds(
    project: Project, rows: pl.DataFrame, held_out: Table, way: str, seed: int, sizes: tuple[int, ...]
) -> Iterator[list[float]]:
    store = project.store
    rounds = Rounds(project=project, on_model=lambda *_: None, command=lambda *_: [])
    texts, labels = held_out.frame["text"].to_list(), np.array(held_out.frame["label"].to_list())
    written, truth = rows["text"].to_list(), rows["label"].to_list()
    minutes = 0.0
    for number in range(1, min(max(sizes), len(truth)) + 1):
        found = next_text(store, "me")
        assert found is not None
        text = int(found["id"])
        minutes += expected_seconds(store, [len(written[text - 1])]).item() / 60
        store.decide(Decision(texts=[text], kind="label", label=truth[text - 1], who="me", way=found["way"]))
        reported = number in sizes and rounds.refusal() is None
        if not (reported or (way == "desk" and rounds.due)):
            continue
        lesson = project.write_lesson()
        model = TextClassifier(random_state=seed, epochs=0).fit(lesson["text"].to_list(), lesson["label"].to_list())
        if way == "desk":
            left, inputs = store.unlabelled(), InputsRead.of(store.facts)
            seconds = expected_seconds(store, list(map(len, inputs.words(left))))
            store.suggest(suggestions(model.predictor_, left, store.labelling, inputs, seconds), number=number)
        store.write_round(number, "done", {"labels": number})
        accuracy = float(np.mean(np.array(model.predict(texts)) == labels))
        yield [number, accuracy, round(minutes, 2)]


if __name__ == "__main__":
    main()
