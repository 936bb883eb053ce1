"""Small models and graphs that many tests share."""

import csv
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock

from tests.cli.terminal import QUICK, Outcome, glassformer
from tests.fits import few_steps
from tests.graphs import remember_graphs

POSITIVE, NEGATIVE = "very good", "not, good"  # a space and a comma, to be quoted


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A model folder, the table that it was trained on, and what `train` said."""

    folder: Path
    table: Path
    outcome: Outcome


def write_csv(path: Path, rows: Sequence[tuple[str, ...]], header: tuple[str, ...] = ("text", "label")) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def keep_lines(path: Path, count: int) -> None:
    """Drop all lines after the first `count`."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:count]), encoding="utf-8")


def review_rows(count: int) -> list[tuple[str, str]]:
    draw = random.Random(3)
    words = {POSITIVE: ("good", "fine", "great"), NEGATIVE: ("bad", "dull", "poor")}
    things = ("film", "book", "song", "play", "plot")
    rows = []
    for number in range(count):
        label = (POSITIVE, NEGATIVE)[number % 2]
        rows.append((f"{draw.choice(words[label])} {draw.choice(things)} {number}", label))
    return rows


@contextmanager
def made_once(factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """A folder that all processes of pytest read, and whether it is to be filled. The others wait meanwhile."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with FileLock(folder.with_suffix(".lock")):
        whole = folder.with_suffix(".whole")
        folder.mkdir(exist_ok=True)
        yield folder, not whole.exists()
        whole.touch()


@pytest.fixture(scope="session", autouse=True)
def graphs(tmp_path_factory: pytest.TempPathFactory) -> None:
    remember_graphs(partial(made_once, tmp_path_factory))


@pytest.fixture(scope="session")
@few_steps()  # whichever test asks first
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Two labels, 230 rows; the table was named by a path relative to its folder."""
    folder = tmp_path_factory.mktemp("reviews")
    table = write_csv(folder / "reviews.csv", review_rows(230))
    with chdir(folder):
        outcome = glassformer("train", "reviews.csv", "--out", "model", *QUICK)
    return Trained(folder=folder / "model", table=table, outcome=outcome)


@pytest.fixture(scope="session")
@few_steps()  # whichever test asks first
def attending(reviews: Trained, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The same rows, without a counting reader: a model that has unknown words."""
    folder = tmp_path_factory.mktemp("attending") / "model"
    outcome = glassformer("train", reviews.table, "--out", folder, *QUICK, "--set", "model.counting=none")
    return Trained(folder=folder, table=reviews.table, outcome=outcome)


@pytest.fixture(scope="session")
@few_steps()  # whichever test asks first
def tags(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Several labels per text, or none."""
    folder = tmp_path_factory.mktemp("tags")
    rows = [
        ("good film", "pos;film"), ("bad film", "neg;film"), ("good book", "pos"), ("bad book", "neg"), ("nothing", "")
    ] * 9  # fmt: skip
    table = write_csv(folder / "tags.csv", rows)
    outcome = glassformer("train", table, "--out", folder / "model", "--multilabel", ";", *QUICK)
    return Trained(folder=folder / "model", table=table, outcome=outcome)


@pytest.fixture(scope="session")
@few_steps()  # whichever test asks first
def keeping(reviews: Trained, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The same rows, kept by a model without a counting reader."""
    folder = tmp_path_factory.mktemp("keeping") / "model"
    arguments = (*QUICK, "--set", "model.counting=none", "--keep-texts")
    outcome = glassformer("train", reviews.table, "--out", folder, *arguments)
    return Trained(folder=folder, table=reviews.table, outcome=outcome)
