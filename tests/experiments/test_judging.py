"""A search and a comparison of models of a number, and what they are rated by."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score

from glassformer.data.sources import Sources
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.experiments.pages import comparison_page, search_page
from glassformer.experiments.search import rows
from glassformer.experiments.search.search import search
from glassformer.experiments.variants.comparison import compare_variants
from glassformer.experiments.variants.plan import plan_variants
from glassformer.experiments.variants.variant_run import VariantRun
from glassformer.targets.number.experiments import PART as NUMBERS
from glassformer.targets.parts import part_of
from glassformer.training.recipe import load_recipe
from tests.experiments.search.samples import OVER, SMALL, Notes
from tests.experiments.variants.samples import SMALL as SMALL_VARIANTS
from tests.experiments.variants.samples import Notes as Comparison
from tests.training.samples import opinions, table


def prices(count: int = 120) -> Table:
    """Good things cost about 30, others about 10."""
    plain = opinions(count).frame
    return table(
        plain["text"].to_list(),
        [f"{(30 if label == 'good' else 10) + row % 7}" for row, label in enumerate(plain["label"])],
    )


class Scored(Comparison):
    def on_done(self, run: VariantRun, name: str) -> None:
        assert name in ("R²", "accuracy")
        self.done.append(run)


def answers(seed: int) -> tuple[np.ndarray, np.ndarray, Table]:
    truth = np.array([float(label) for label in prices().frame["label"]])
    return truth, truth + np.random.default_rng(seed).normal(0, 5, len(truth)), prices()


def rows_of(given: np.ndarray, truth: np.ndarray) -> dict[str, np.ndarray]:
    return {"r2": (given - truth) ** 2, "mae": np.abs(given - truth)}


def test_each_kind_has_its_judge() -> None:
    assert part_of("number", "experiments") is NUMBERS
    for task in (None, "classes", "several", "ordered"):
        assert part_of(task, "experiments").kind == "labels"
    for judge in (NUMBERS, part_of(None, "experiments")):
        assert [figure.decides for figure in judge.figures].count(True) == 1


def test_the_figures_of_a_number_are_those_of_scikit_learn() -> None:
    truth, given, of = answers(0)
    found = rows_of(given, truth)
    assert NUMBERS.values(found, of).mean() == pytest.approx(r2_score(truth, given))
    assert NUMBERS.estimate("r2", found["r2"], of, seed=0).value == pytest.approx(r2_score(truth, given))
    assert NUMBERS.estimate("mae", found["mae"], of, seed=0).value == pytest.approx(mean_absolute_error(truth, given))


def test_a_difference_is_paired_and_wider_if_rows_are_alike() -> None:
    truth, given, of = answers(0)
    found, others = rows_of(given, truth), rows_of(given + 1, truth)
    apart = NUMBERS.difference("r2", found["r2"], others["r2"], of, seed=0)
    assert apart.value == pytest.approx(r2_score(truth, given) - r2_score(truth, given + 1))
    assert apart.low <= apart.value <= apart.high
    alone, alike = (
        NUMBERS.difference("r2", found["r2"], others["r2"], of, seed=0, worth=worth) for worth in (1.0, 0.1)
    )
    assert alone.value == pytest.approx(alike.value)
    assert alike.high - alike.low > 2 * (alone.high - alone.low)
    assert NUMBERS.p(found, found) == 1
    assert NUMBERS.p(found, rows_of(given + 9, truth)) < 0.001


@pytest.mark.parametrize("few", [50, 10_000])
def test_a_search_for_models_of_a_number(few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_ROWS", few)
    recipe, sources = load_recipe(None, overrides=SMALL | {"training.epochs": 1}), Sources(train=prices())
    found = search(sources, recipe, tmp_path / "s", minutes=20, task="number", over=OVER[:1], watcher=Notes())
    assert [figure.name for figure in found.figures] == ["R²", "mean absolute error"]
    assert found.deciding.key == "r2"
    run = found.trials[0].runs[0]
    assert run.loss is not None
    assert run.figure == pytest.approx(1 - run.loss)
    page = search_page(found)
    assert "A lower mean absolute error is better." in page
    assert "Loss: the share of the variance that is not explained (1 − R²)" in page
    (tmp_path / "s" / "search.json").unlink()
    with pytest.raises(UsageError, match="other target"):
        search(sources, recipe, tmp_path / "s", minutes=20, over=OVER[:1], resume=True, watcher=Notes())


def test_counting_numbers_is_fitted_once_for_each_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_ROWS", 50)
    settings = SMALL | {"model.counting": "auto", "validation.min_rows": 60}
    recipe, sources = load_recipe(None, overrides=settings), Sources(train=prices())
    watcher = Notes()
    search(sources, recipe, tmp_path / "s", minutes=20, task="number", over=OVER[:1], watcher=watcher)
    fitted = [run.part for run in watcher.done if run.readers_seconds]
    assert sorted(fitted) == [0, 1, 2]


def test_variants_of_a_number(tmp_path: Path) -> None:
    settings = {key: value for key, value in SMALL_VARIANTS.items() if key != "training.learning_rate"}
    settings["training.weight_decay"] = 1  # multiplies the weights by −999 in each step at the higher rate
    plan = plan_variants(["training.learning_rate=0.01,1000"], overrides=settings, seeds=2, steps=20)
    found = compare_variants(plan, Sources(train=prices()), tmp_path, task="number", watcher=Scored())
    assert found.figure == "R²"
    diverged = [run for run in found.runs if run.diverged]
    assert len(diverged) == 2
    assert all(-0.5 < run.mean <= 0 for run in diverged)
    assert "2 of 4 runs diverged; each counts as if it always gave the mean." in found.notes
    assert "R² of each variant" in comparison_page(found)
    as_labels = compare_variants(plan, Sources(train=prices()), tmp_path, watcher=Scored())
    assert as_labels.figure == "accuracy"
    assert len(list((tmp_path / "runs").iterdir())) == 8


def test_numbers_that_are_all_the_same_are_refused(tmp_path: Path) -> None:
    same = table(prices().frame["text"].to_list(), ["3"] * 120)
    plan = plan_variants(["norm=rms,layer"], overrides=SMALL_VARIANTS, seeds=2, steps=2)
    with pytest.raises(UsageError, match="every row has the number 3"):
        compare_variants(plan, Sources(train=same), tmp_path, task="number", watcher=Scored())
    with pytest.raises(UsageError, match="R² cannot be measured"):
        compare_variants(plan, Sources(train=prices()), tmp_path, test=same, task="number", watcher=Scored())
