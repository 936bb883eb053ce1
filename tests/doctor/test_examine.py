import math
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from torch import nn

from glassformer.data import polarity
from glassformer.data.sources import Sources
from glassformer.doctor import examine
from glassformer.doctor.bench import Bench
from glassformer.doctor.examine import diagnose, examine_model
from glassformer.doctor.findings import Finding, ModelFigures
from glassformer.errors import UsageError
from glassformer.models.build import DESIGNS, AnyModelConfig, build_model
from glassformer.training.initial_weights import read_initial_weights
from glassformer.training.recipe import load_recipe, with_settings
from glassformer.training.run import train_model
from glassformer.training.training_config import TrainingConfig
from tests.doctor.samples import N_CLASSES, VOCAB_SIZE, bench, by_check, problems, scaled
from tests.training.samples import opinions, recipe, table


@pytest.mark.slow
def test_a_healthy_run_has_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.doctor.signals.STEPS", 25)
    monkeypatch.setattr("glassformer.doctor.rate_range.STEPS", 30)
    chosen = load_recipe("polarity")
    found = diagnose(Sources(train=polarity.generate("train"), test=polarity.generate("test")), chosen)
    assert found.at("problem") == ()
    assert found.rows == 3600
    checks = by_check(list(found.findings))
    assert checks["one batch by heart"].level == "good"
    assert checks["unknown words"].level == "good"
    assert checks["label balance"].level == "good"


def examined(tried: Bench) -> tuple[list[Finding], ModelFigures]:
    return examine_model(tried, lambda _: None, [])


def test_all_steps_find_a_healthy_model_healthy() -> None:
    findings, figures = examined(bench())
    assert {finding.level for finding in findings} == {"good"}
    assert figures.steps == 200
    assert "gradients after 200 steps" in by_check(findings)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer steps: enough to go through every check."""
    monkeypatch.setattr("glassformer.doctor.signals.STEPS", 21)
    monkeypatch.setattr("glassformer.doctor.rate_range.STEPS", 41)
    monkeypatch.setattr("glassformer.doctor.overfit._STEPS", 30)


@pytest.mark.usefixtures("quick")
def test_the_model_is_that_of_the_run_and_random_numbers_go_on_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[dict[str, Any]] = []

    def build(*arguments: Any) -> nn.Module:
        model = build_model(*arguments)
        if not next(model.parameters()).is_meta:  # before it is built, its size is counted without memory
            built.append({name: weight.clone() for name, weight in model.state_dict().items()})
        return model

    monkeypatch.setattr("glassformer.training.preparation.build_model", build)
    before = torch.get_rng_state()
    chosen = recipe(seed=17)
    found = diagnose(Sources(train=opinions(60)), chosen)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(17)
    vocab_size = built[0]["trunk.embedding.weight"].shape[0]
    for name, weight in build_model(chosen.model, vocab_size, 2).state_dict().items():
        assert torch.equal(weight, built[0][name])
    assert found.rows == 48
    assert found.parameters == sum(weight.numel() for weight in built[0].values())


@pytest.mark.usefixtures("quick")
def test_weights_to_start_from_are_those_that_are_examined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = recipe(epochs=1)
    trained = train_model(Sources(train=opinions(90)), chosen, out=tmp_path / "m")
    examined_models: list[Bench] = []

    def remember(tried: Bench, *others: Any) -> tuple[list[Finding], ModelFigures]:
        examined_models.append(tried)
        return examine_model(tried, *others)

    monkeypatch.setattr(examine, "examine_model", remember)
    init = read_initial_weights(str(tmp_path / "m"))
    found = diagnose(Sources(train=opinions(60, first=500)), chosen, init=init)
    [tried] = examined_models
    assert tried.from_weights
    for name, weight in trained.model.state_dict().items():
        assert torch.equal(weight, tried.model.state_dict()[name])
    assert found.weights == f"weights: {tmp_path / 'm'}, the head too"
    assert (
        f"the vocabulary has {trained.tokenizer.vocab_size} entries and came with the weights"
        in by_check(list(found.findings))["unknown words"].found
    )


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ({}, "problem"),
        ({"model.counting": "tfidf"}, "worth knowing"),
        ({"model.counting": "tfidf", "training.epochs": 0}, None),
    ],
)
def test_unknown_words_concern_the_transformer_alone(settings: dict[str, Any], level: str | None) -> None:
    rows = table([f"word{i} again" for i in range(60)], ["a", "b"] * 30)
    chosen = with_settings(recipe(), settings)
    found = diagnose(Sources(train=rows), chosen)
    checks = by_check(list(found.findings))
    assert ("size" in checks) == ("learning rate" in checks) == ("first loss" in checks) == (level is not None)
    assert (found.figures is None) == (level is None)
    assert (checks["unknown words"].level if "unknown words" in checks else None) == level
    assert ("tokens by label" in checks) == (level is not None)


@pytest.mark.usefixtures("quick")
def test_planted_faults_of_model_and_data_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.training.preparation.build_model", lambda *sizes: scaled(build_model(*sizes), 12))
    rows = table([f"word{i} again" for i in range(100)], ["a"] * 95 + ["b"] * 5)
    found = diagnose(Sources(train=rows), recipe())
    assert {"first loss", "label balance"} <= problems(list(found.findings))
    levels = [finding.level for finding in found.findings]
    assert levels == sorted(levels, key=["problem", "worth knowing", "good"].index)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("rate", [1e-8, 0.7])
def test_a_rate_that_is_far_off_is_named(rate: float) -> None:
    findings, figures = examined(bench(learning_rate=rate))
    assert "learning rate" in problems(findings)
    assert figures.steps == 21


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_can_be_examined_and_none_starts_confidently_wrong(
    monkeypatch: pytest.MonkeyPatch, design: str
) -> None:
    monkeypatch.setattr("glassformer.doctor.signals.STEPS", 3)
    monkeypatch.setattr("glassformer.doctor.rate_range.STEPS", 4)
    monkeypatch.setattr("glassformer.doctor.overfit._STEPS", 2)
    smaller = {"n_layers": 1} if "n_layers" in DESIGNS[design].model_fields else {}
    config = TypeAdapter[AnyModelConfig](AnyModelConfig).validate_python({"design": design} | smaller)
    found, figures = examined(bench(model=build_model(config, VOCAB_SIZE, N_CLASSES)))
    checks = by_check(found)
    assert checks["first loss"].level != "problem"
    assert {"one batch by heart", "gradients after 3 steps", "step size after 3 steps", "learning rate"} <= set(checks)
    assert len(figures.rate_range.rates) == 4
    assert all(math.isfinite(loss) for loss in figures.overfit)


@pytest.mark.usefixtures("quick")
def test_a_model_that_gives_not_a_number_is_examined_to_the_end() -> None:
    tried = bench()
    tried.model.get_parameter("head.bias").data[1] = math.nan
    findings, figures = examined(tried)
    assert {"first loss", "one batch by heart", "short training", "learning rate"} <= problems(findings)
    assert figures.rate_range.losses == (math.inf,)


@pytest.mark.usefixtures("quick")
def test_work_is_capped_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_MOST_ROWS", 30), ("_MOST_HELD_OUT", 7), ("_MOST_TOKENS", 50), ("_RANGE_SECONDS", 0.0)):
        monkeypatch.setattr(examine, name, value)
    said = "; ".join(diagnose(Sources(train=opinions(60)), recipe()).limits)
    assert "30 of 48 training rows" in said
    assert "7 of 12 held-out texts" in said
    assert "a batch holds 50 tokens at most" in said
    assert "40 rates instead of 41" in said


class Reached(Exception):  # noqa: N818 (no error)
    """The checks of the model would begin: the bench, and the limits so far."""


@pytest.mark.parametrize(
    ("order", "tokens", "said"),
    [
        ("bucketed", 900, ["a batch holds 64 tokens at most, about 8 texts"]),
        ("bucketed", 60, []),  # the recipe's own batches are small enough
        ("shuffled", 900, ["a batch holds 8 texts instead of 21"]),
        ("as-given", 60, ["a batch holds 8 texts instead of 21"]),  # these orders do not look at tokens
    ],
)
def test_a_batch_holds_what_is_said(monkeypatch: pytest.MonkeyPatch, order: str, tokens: int, said: list[str]) -> None:
    def reached(tried: Bench, _: object, limits: list[str]) -> None:
        raise Reached(tried, limits)

    monkeypatch.setattr(examine, "_MOST_TOKENS", 64)
    monkeypatch.setattr(examine, "examine_model", reached)
    with pytest.raises(Reached) as caught:
        diagnose(Sources(train=opinions(60)), recipe(order=order, batch_size=21, batch_tokens=tokens))
    tried, limits = caught.value.args
    assert limits == said
    batches = tried.sample(6)
    most = max(len(batch.rows) for batch in batches)
    assert most == (8 if order != "bucketed" else min(tokens, 64) // batches[0].inputs.token_ids.shape[1])


@pytest.mark.parametrize(
    ("order", "said"),
    [("bucketed", "4,096 tokens at most, about 1 text"), ("shuffled", "a batch holds 1 text instead of 64")],
)
def test_a_batch_of_one_text_is_said_to_be(order: str, said: str) -> None:
    limits: list[str] = []
    examine._smaller_batches(TrainingConfig.model_validate({"order": order}), 4000.0, limits)
    assert limits[0].endswith(said)


@pytest.mark.usefixtures("quick")
def test_several_labels_per_text_and_each_kind_of_check() -> None:
    rows = table([f"word{i % 7} film" for i in range(60)], [["a"], ["b", "a"], []] * 20)
    heard: list[str] = []
    found = diagnose(Sources(train=rows), recipe(), on_check=heard.append)
    assert len(heard) == 5
    checks = set(by_check(list(found.findings)))
    assert {"first loss", "one batch by heart", "learning rate", "label balance", "length of texts", "size"} <= checks


def test_what_cannot_be_learned_from_is_refused() -> None:
    with pytest.raises(UsageError, match="every row has the label"):
        diagnose(Sources(train=table(["one", "two"], ["a", "a"])), recipe())


def test_a_model_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> nn.Module:
        raise ValueError("too few classes")

    monkeypatch.setattr("glassformer.training.preparation.build_model", refuse)
    with pytest.raises(UsageError, match="recipe: model: too few classes"):
        diagnose(Sources(train=opinions(20)), recipe())
