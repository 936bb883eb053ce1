import itertools

import numpy as np
import pytest

from benchmarks import search_sampler as benchmark
from benchmarks.bench_data import Cut
from benchmarks.tables_search import sampler_table
from glassformer.training.recipe import load_recipe
from tests.training.samples import opinions

GRID = benchmark.GRIDS["transformer"]
SIZES = [len(values) for values in GRID.values()]
PLACES = np.array(list(itertools.product(*map(range, SIZES))))
BOWL = ((PLACES - 1) ** 2).sum(axis=1) / 100  # the best combination has the second value of each setting


def descending(_grid: object, seen: np.ndarray, trials: int, seed: int) -> list[int]:
    """Knows the best combination. It comes after so many others as the seed says."""
    return np.roll(np.argsort(seen), seed)[:trials].tolist()


def test_combinations_are_those_of_the_grid_and_make_recipes() -> None:
    found = benchmark.combinations(GRID)
    assert len(found) == np.prod(SIZES) == 72
    for number in (0, 17, 71):
        places = np.unravel_index(number, SIZES)
        values = [values[int(place)] for values, place in zip(GRID.values(), places, strict=True)]
        assert list(found[number].values()) == values
    assert load_recipe(None, overrides=benchmark.FIXED | found[5]).training.epochs == found[5]["training.epochs"]


def test_what_looks_best_is_chosen_and_what_counts_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "_tpe", descending)
    losses = np.stack([BOWL, BOWL + np.where(BOWL == 0, 0.5, 0)], axis=1)  # the best looks better than it is
    line = {"table": "trec", "model": "transformer"} | benchmark.compare(GRID, losses, seeds=2)
    assert line["losses"]["chosen_of_all"] == 0.5
    assert [each["trials"] for each in line["trials"]] == [10, 20, 40]
    for after in line["trials"]:
        assert after["tpe"] == 0.5
        assert after["seen_difference"]["value"] <= 0
        assert after["difference"]["value"] == pytest.approx(after["tpe"] - after["random"])
    shown = "\n".join(sampler_table({"seeds": 2, "lines": [line]}))
    assert "| trec, transformer | 10 |" in shown
    assert "trec: 0.5000 with all 72 trials" in shown


def test_random_choice_tries_each_combination_once() -> None:
    order = benchmark._random(BOWL, 72, 3)
    assert sorted(order) == list(range(72))
    assert order[:40] == benchmark._random(BOWL, 40, 3)


def test_tpe_finds_the_bottom_of_a_bowl_sooner() -> None:
    pytest.importorskip("optuna")
    tried = [benchmark._tpe(GRID, BOWL, 20, seed) for seed in range(5)]
    assert all(len(set(order)) == 20 for order in tried)
    assert np.mean([BOWL[order].min() for order in tried]) < np.mean(
        [BOWL[benchmark._random(BOWL, 20, seed)].min() for seed in range(100)]
    )


def test_rows_of_a_counting_model_have_their_loss() -> None:
    train, held_out = opinions(80), opinions(40)
    settings = benchmark.combinations(benchmark.GRIDS["TF-IDF"])
    losses = [benchmark._tfidf_losses(Cut(train=train, held_out=held_out), each).mean() for each in settings[:6]]
    assert losses == sorted(losses, reverse=True)  # rows that were learned: less and less is held back
    assert losses[-1] < 0.5 < losses[0]
