"""The kinds of targets and of inputs, a small table for each pair of them, and the models that are trained on it."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from glassformer.prediction.answering_config import TRANSFORMER, Readers
from glassformer.prediction.folder_names import REPORT_FILE
from glassformer.prediction.model_folder import CLASSIFIER, load_model, save_model
from tests.cli.terminal import Outcome, glassformer
from tests.support import randomise
from tests.trained import write_csv

TARGETS: Mapping[str, tuple[str, ...]] = {
    "classes": (),
    "several": ("--multilabel", ";"),
    "ordered": ("--task", "ordered", "--order", "bad,fair,good"),
    "number": ("--task", "number", "--label", "label"),
}
"""What is learned, with the flags that say so."""
INPUTS: Mapping[str, tuple[str, ...]] = {
    "one text": (),
    "several texts": ("--text", "question", "--text", "text"),
    "text with columns": ("--columns", "shop,price"),
}
"""What is read, with the flags that say so."""
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "one text": {},
    "several texts": {"text": ["question", "text"]},
    "text with columns": {"text": ["text"], "columns": ["shop", "price"]},
}
"""The same as arguments of the estimators."""
VOCABULARY = {"one text": 55, "several texts": 54, "text with columns": 40}
"""With the tokens that tell inputs apart, all vocabularies are as large: models whose graphs are the same in ONNX."""
SMALL = (
    "--set", "model.d_model=16", "--set", "model.n_layers=1", "--set", "model.n_heads=2", "--set", "model.d_ff=24",
    "--set", "model.max_seq_len=32", "--set", "tokenizer.min_frequency=1",
)  # fmt: skip
QUICK = (
    "--set", "training.min_steps_per_epoch=2", "--set", "training.batch_size=16", "--set", "validation.min_rows=20",
    "--set", "validation.fraction=0.25",
)  # fmt: skip
SHORT = ("--epochs", "1", "--device", "cpu", *QUICK)
ALONE = ("--set", "model.counting=none")
WORDS = ("bad", "fair", "good")
THINGS = ("film", "book", "song", "play", "plot")
ROWS = 60

Row = dict[str, Any]


class RefusedError(Exception):
    """A cell that ended with a sentence about misuse."""


def rows(target: str, inputs: str, *, first: int = 0, count: int = ROWS) -> list[Row]:
    """Rows of the table for a pair, with their label; those from another `first` are others."""
    draw = random.Random(first)
    found = []
    for number in range(first, first + count):
        word, thing = WORDS[number % 3], draw.choice(THINGS)
        row: Row = {"text": f"a {word} {thing} of number {number}"}
        if inputs == "several texts":
            row = {"question": f"how is the {thing}", **row}
        if inputs == "text with columns":
            row |= {"shop": draw.choice(["Ulm", "Bonn"]), "price": draw.choice(["", f"{draw.uniform(3, 9):.2f}"])}
        tags = [*(("bad", "good") if word == "fair" else (word,)), *([thing] if thing == "film" else [])]
        value = f"{2 * WORDS.index(word) + draw.random():.3f}"
        found.append(row | {"label": {"several": ";".join(tags), "number": value}.get(target, word)})
    return found


def let_both_answer(folder: Path) -> None:
    """Give the transformer of a model a weight and scores that differ from text to text.

    Counting answers these tables alone: a few steps teach a transformer nothing. One without a weight is never asked.
    """
    trained = load_model(folder, CLASSIFIER)
    torch.manual_seed(0)
    randomise(trained.model)
    readers = Readers.weighing(trained.config.weights | {TRANSFORMER: 0.1})
    card, report = ((folder / name).read_text(encoding="utf-8") for name in ("README.md", REPORT_FILE))
    config = trained.config.model_copy(update={"readers": readers})
    save_model(folder, replace(trained, config=config), card=card, report=report)


def write(path: Path, given: list[Row], *, labelled: bool = True) -> Path:
    names = tuple(name for name in given[0] if labelled or name != "label")
    return write_csv(path, [tuple(row[name] for name in names) for row in given], names)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A kind of target and of inputs, with what was trained for it.

    Attributes:
        table: its labelled table.
        both: a model folder in which counting and the transformer answer.
        alone: one in which the transformer answers alone, with its texts and snapshots.
        out: an empty folder.
    """

    target: str
    inputs: str
    table: Path
    both: Path
    alone: Path
    out: Path

    @property
    def flags(self) -> tuple[str, ...]:
        """What says how the table is read."""
        return (*TARGETS[self.target], *INPUTS[self.inputs])

    def rows(self, first: int, count: int) -> list[Row]:
        return rows(self.target, self.inputs, first=first, count=count)

    def new(self, name: str, first: int = 1_000, count: int = 12, *, labelled: bool = True) -> Path:
        """A table of rows that the models have not seen."""
        return write(self.out / name, self.rows(first, count), labelled=labelled)

    @property
    def row(self) -> Row:
        """A row to answer: as `predict` takes it."""
        (found,) = rows(self.target, self.inputs, first=2, count=1)
        return {name: value for name, value in found.items() if name != "label"}

    @property
    def text(self) -> str:
        """The same on the command line: a text, or a row as JSON."""
        return str(self.row["text"]) if self.inputs == "one text" else json.dumps(self.row)

    @property
    def given(self) -> Any:
        """The same in Python."""
        return self.row["text"] if self.inputs == "one text" else self.row

    @cached_property
    def learned(self) -> Any:
        """The labels of the table as the estimators take them."""
        cells = [row["label"] for row in rows(self.target, self.inputs)]
        turn: Callable[[str], Any] = {"several": lambda cell: cell.split(";"), "number": float}.get(self.target, str)
        return [turn(cell) for cell in cells]

    def train(self, out: Path, *more: object) -> Outcome:
        words = f"tokenizer.vocab_size={VOCABULARY[self.inputs]}"
        return self.run("train", self.table, "--out", out, *self.flags, *SMALL, "--set", words, *SHORT, *more)

    def run(self, *arguments: object, stdin: bytes = b"") -> Outcome:
        """Run a command, which ends well or refuses in a sentence."""
        return ended_well(glassformer(*arguments, stdin=stdin))

    def check(self, prediction: Any) -> None:
        """Assert that an answer is of the right kind."""
        if self.target == "number":
            assert isinstance(prediction, int | float)
            assert -20 < prediction < 20
        elif self.target == "several":
            assert set(prediction) <= {*WORDS, *THINGS}
        else:
            assert prediction in WORDS


def ended_well(said: Outcome) -> Outcome:
    if said.code == 2:
        assert said.out == ""
        assert "Traceback" not in said.err
        lines = [line for line in said.err.splitlines() if line.lower().startswith("error: ")]
        assert len(lines) == 1, said.err
        raise RefusedError(lines[0])
    assert said.code == 0, said.err
    return said
