"""A project with a model, for tests of the desk."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from glassformer.desk.project import Project
from glassformer.desk.rounds import Rounds
from glassformer.desk.schema import Decision
from tests.trained import Trained, write_csv

LABELS = ("praise", "blame")


def project_of(folder: Path, texts: Sequence[str], *, given: Sequence[str] | None = None) -> Project:
    """A project of these texts, with labels if some are given ("" for none)."""
    rows = [(text,) for text in texts] if given is None else list(zip(texts, given, strict=True))
    table = write_csv(folder / "texts.csv", rows, ("text",) if given is None else ("text", "label"))
    project = Project.open(folder / "desk")
    project.take(table)
    return project


def some_texts(count: int) -> list[str]:
    """Texts of two kinds, in turn."""
    return [f"{('good', 'bad')[number % 2]} film number {number}" for number in range(count)]


def label(project: Project, texts: Sequence[int], label: str, **more: Any) -> int:
    """Keep a decision of a person."""
    return project.store.decide(
        Decision(**{"texts": texts, "kind": "label", "label": label, "who": "me", "way": "random"} | more)
    )


def trained_already(monkeypatch: pytest.MonkeyPatch, reviews: Trained, reason: str | None = None) -> None:
    """A round takes a moment: its model is there already. `reason`: why there is none."""

    def copied(rounds: Rounds, number: int) -> str | None:
        shutil.copytree(reviews.folder, rounds.project.model(number))
        return reason

    monkeypatch.setattr(Rounds, "_trained", copied)


def learn(table: str, out: str, settings: Mapping[str, Any]) -> list[str]:
    """Stands for the command that trains."""
    return ["learn", table, out, *map(str, settings.values())]
