"""Searches small enough for a test."""

from collections.abc import Sequence
from pathlib import Path

from glassformer.data.sources import Sources
from glassformer.experiments.search.result import SearchResult
from glassformer.experiments.search.search import search
from glassformer.experiments.search.trial import TrialRun
from glassformer.training.recipe import Recipe, load_recipe
from tests.training.samples import opinions

MODEL = {
    "model.d_model": 16,
    "model.n_layers": 1,
    "model.n_heads": 2,
    "model.d_ff": 24,
    "model.max_seq_len": 24,
}
SMALL = {
    **MODEL,
    "model.counting": "none",
    "training.epochs": 1,
    "training.min_steps_per_epoch": 3,
    "training.batch_size": 64,
    "training.precision": "float32",
}
OVER = ("dropout=0.1,0.3", "training.learning_rate=1e-3,2e-2", "pooling=mean,max")


class Notes:
    """A watcher that remembers, and may stop the search after some trainings."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.rungs: list[str] = []
        self.begun: list[str] = []
        self.done: list[TrialRun] = []
        self.messages: list[str] = []
        self._stop_after = stop_after

    def on_rung(self, text: str) -> None:
        self.rungs.append(text)

    def on_run(self, name: str) -> None:
        if self._stop_after == len(self.begun):
            raise KeyboardInterrupt
        self.begun.append(name)

    def on_share(self, share: float) -> None:
        assert 0 <= share <= 1

    def on_done(self, run: TrialRun, name: str) -> None:
        assert name
        self.done.append(run)

    def on_message(self, text: str) -> None:
        self.messages.append(text)


def recipe(**changes: object) -> Recipe:
    return load_recipe(None, overrides=SMALL | changes)


def searched(
    out: Path, *, rows: int = 120, over: Sequence[str] = OVER, watcher: Notes | None = None, **more: object
) -> SearchResult:
    given = {"minutes": 20.0, "over": over, "watcher": watcher or Notes()} | more
    return search(Sources(train=opinions(rows)), recipe(), out, **given)  # type: ignore[arg-type]
