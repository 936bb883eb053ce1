"""The training of a model of a number, and its answers with both readers."""

import copy
import math
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassformer.data.sources import Sources, TableOptions
from glassformer.data.table import Table
from glassformer.errors import GlassformerError, UsageError
from glassformer.evaluation.evaluate_model import evaluate_model
from glassformer.evaluation.verdict import share
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.targets.number.target import NumberAnswers, number_of, rows_needed
from glassformer.targets.number.training import distances
from glassformer.training.loop import InterruptedTraining
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model
from tests.cli.test_number import scored_rows
from tests.training.samples import Memory

train_number = partial(train_model, family="number")

SETTINGS: dict[str, Any] = {
    "training.epochs": 1, "training.min_steps_per_epoch": 3, "training.learning_rate": 5e-3, "model.d_model": 8,
    "model.n_heads": 2, "model.d_ff": 8, "model.n_layers": 1, "training.precision": "float32",
}  # fmt: skip


def scored(rows: int) -> Table:
    frame = pl.DataFrame(scored_rows(rows), schema=["text", "label"], orient="row").with_row_index("row", offset=1)
    return Table(frame=frame, source="scores", text_column="text", label_column="score")


@pytest.mark.usefixtures("every_training")
def test_a_resumed_run_is_an_uninterrupted_one(tmp_path: Path) -> None:
    recipe, sources = load_recipe(None, overrides=SETTINGS), Sources(train=scored(40))
    whole = train_number(sources, recipe, out=tmp_path / "whole")
    stopping = Memory(lambda done: signal.raise_signal(signal.SIGINT) if done == 5 else None)
    with pytest.raises(InterruptedTraining):
        train_number(sources, recipe, out=tmp_path / "m", observer=stopping)
    train_number(sources, recipe, out=tmp_path / "m", resume=True)
    again, target = load_model(tmp_path / "m", CLASSIFIER), whole.config.target
    assert target.held_out(again.metrics) == target.held_out(whole.metrics)
    for name, weights in whole.model.state_dict().items():
        np.testing.assert_array_equal(again.model.state_dict()[name], weights)


@pytest.fixture(scope="module")
def both() -> Predictor[NumberAnswers]:
    """A model whose transformer takes part, however little it helps."""
    settings = SETTINGS | {"validation.min_rows": 50, "training.min_steps_per_epoch": 40}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glassformer.targets.number.training.GAIN", -math.inf)
        return Predictor(train_number(Sources(train=scored(120)), load_recipe(None, overrides=settings)))


def test_both_readers_add_up(both: Predictor[NumberAnswers]) -> None:
    assert both.trained.config.weights["transformer"] > 0
    answers = both.answer(["superb film", "awful song"])
    base = number_of(both.trained.config.target).base
    np.testing.assert_allclose(base + sum(answers.readers.values()), answers.values)
    assert answers.values[0] > answers.values[1]
    first = next(answers.records())
    assert set(first["readers"]) == {"counting", "transformer"}
    assert first["interval_high"] - first["interval_low"] == pytest.approx(2 * (answers.distance or 0), rel=1e-4)


def test_each_reader_is_measured_alone(both: Predictor[NumberAnswers], tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    scored(30).frame.select("text", score="label").write_csv(table)
    (tmp_path / "model").mkdir()
    for name in (
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "counting.json",
        "counting.safetensors",
        "seen.safetensors",
    ):
        (tmp_path / "model" / name).write_text("{}")
    found = evaluate_model(both, tmp_path / "model", str(table), TableOptions(text="text", label="score"))
    assert [each.name for each in found.duel.readers] == ["counting alone", "the transformer alone"]
    assert len(found.duel.reader_comparisons) == 2
    assert found.duel.readers[0].metrics.r2.value > 0.5
    assert any("rows in memory" in note for note in found.notes)


def test_a_reader_without_weight_is_not_asked(both: Predictor[NumberAnswers]) -> None:
    def asked(counting: float, transformer: float) -> list[str]:
        readers = Readers.weighing({"counting": counting, "transformer": transformer})
        config = both.trained.config.model_copy(update={"readers": readers})
        answering = Predictor[NumberAnswers](replace(both.trained, config=config))
        if not (counting and transformer):
            base = number_of(config.target).base
            near = answering.answer(["a film", "a song"]).values
            assert counting or transformer or near == pytest.approx(base), "one reader is always asked"
        return list(answering.scores(["a film"]))

    assert asked(0.0, 0.5) == ["transformer"]
    assert asked(0.5, 0.0) == ["counting"]
    assert asked(0.0, 0.0) == ["counting"]


def test_held_out_rows_of_one_number_measure_nothing() -> None:
    baseline_error = replace(
        scored(10), frame=scored(10).frame.with_columns(label=pl.lit("4"), text=pl.col("text") + " !")
    )
    sources = Sources(train=scored(40), validation=baseline_error)
    with pytest.raises(UsageError, match="every held-out row has the number 4"):
        train_number(sources, load_recipe(None, overrides=SETTINGS))


def test_too_few_held_out_rows_give_no_interval_and_training_says_so() -> None:
    few = replace(scored(8), frame=scored(8).frame.with_columns(text=pl.col("text") + " !"))
    seen, settings = Memory(), SETTINGS | {"training.epochs": 0}
    sources = Sources(train=scored(40), validation=few)
    model = Predictor(train_number(sources, load_recipe(None, overrides=settings), observer=seen))
    said = "8 rows were held out in training, and intervals of 90% need at least 9"
    target = number_of(model.trained.config.target)
    assert target.why_no_interval(model.held_out) == said
    assert target.why_no_interval(model.held_out, 0.8) is None
    assert any("8 rows were held out, and intervals of 90% need at least 9" in each for each in seen.messages)


@pytest.mark.parametrize(("coverage", "rows"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_intervals_need_some_rows(coverage: float, rows: int) -> None:
    assert rows_needed(coverage) == rows
    place = round(coverage * 100) - 1
    assert distances(np.ones(rows))[place] == 1
    assert distances(np.ones(rows - 1))[place] is None


def test_a_model_that_learned_nothing_is_warned_of() -> None:
    noise = scored(40).frame.with_columns(label=pl.Series(map(str, np.random.default_rng(1).normal(size=40).round(3))))
    seen = Memory()
    settings = load_recipe(None, overrides=SETTINGS | {"training.epochs": 0})
    train_number(Sources(train=replace(scored(40), frame=noise)), settings, observer=seen)
    assert any("explain nothing of the variance (R² −0.0" in each for each in seen.messages)


def test_an_r2_below_zero_has_a_minus() -> None:
    assert [share(value) for value in (-0.0004, -0.02, 0.5)] == [".000", "−.020", ".500"]


def test_coverage_is_a_share_below_one(both: Predictor[NumberAnswers]) -> None:
    with pytest.raises(UsageError, match="no interval holds every number"):
        both.answer(["a film"], coverage=1)
    half, most = (both.answer(["a film"], coverage=share).distance for share in (0.5, 0.8))
    assert (half or 0) <= (most or 0)


def test_damaged_weights_are_not_an_answer(both: Predictor[NumberAnswers]) -> None:
    damaged = copy.deepcopy(both)
    head: Any = damaged.trained.model.get_submodule("head")
    head.weight.data.fill_(math.nan)
    with pytest.raises(GlassformerError, match="NaN or infinite numbers"):
        damaged.answer(["a film"])
