"""Variants small enough to be trained in a test."""

from pathlib import Path
from typing import Any

from glassformer.data.sources import Sources
from glassformer.experiments.variants.comparison import compare_variants
from glassformer.experiments.variants.comparison_result import VariantComparison
from glassformer.experiments.variants.plan import Plan, plan_variants
from glassformer.experiments.variants.variant_run import VariantRun
from tests.experiments.search.samples import MODEL
from tests.training.samples import opinions

SMALL = {
    **MODEL,
    "validation.min_rows": 0,
    "training.batch_size": 10,
    "training.precision": "float32",
    "training.learning_rate": 0.01,
}
VARY = ("norm=rms,layer", "pooling=mean,max")


class Notes:
    """A watcher that remembers, and may stop the comparison after some runs."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.plans: list[tuple[int, int, float | None]] = []
        self.begun: list[str] = []
        self.done: list[VariantRun] = []
        self.shares: list[float] = []
        self.messages: list[str] = []
        self._stop_after = stop_after

    def on_plan(self, runs: int, done: int, seconds: float | None) -> None:
        self.plans.append((runs, done, seconds))

    def on_run(self, name: str) -> None:
        if self._stop_after == len(self.done):
            raise KeyboardInterrupt
        self.begun.append(name)

    def on_share(self, share: float) -> None:
        self.shares.append(share)

    def on_done(self, run: VariantRun, name: str) -> None:
        assert name == "accuracy"
        self.done.append(run)

    def on_message(self, text: str) -> None:
        self.messages.append(text)


def plan(*vary: str, seeds: int = 2, steps: int = 4, fraction: float = 0.1) -> Plan:
    return plan_variants(vary or VARY, overrides=SMALL | {"validation.fraction": fraction}, seeds=seeds, steps=steps)


def compared(
    out: Path, *, of: Plan | None = None, watcher: Notes | None = None, rows: int = 60, **more: Any
) -> VariantComparison:
    return compare_variants(of or plan(), Sources(train=opinions(rows)), out, watcher=watcher or Notes(), **more)
