from typing import Any

import numpy as np
import pytest

from glassformer.experiments.search.effects import setting_effects
from glassformer.experiments.search.result import Trial

SPACE: dict[str, list[Any]] = {"model.dropout": [0.1, 0.3], "model.pooling": ["mean", "max", "first"]}


def trials(count: int, gain: float, *, noise: float = 0.01) -> list[Trial]:
    draw = np.random.default_rng(0)
    found = []
    for number in range(count):
        values = {
            "model.dropout": draw.choice([0.1, 0.3]).item(),
            "model.pooling": str(draw.choice(SPACE["model.pooling"])),
        }
        loss = 0.5 + draw.normal(0, noise) - gain * (values["model.pooling"] == "max")
        found.append(a_trial(number, values, loss))
    return found


def a_trial(number: int, values: dict[str, Any], loss: float | None) -> Trial:
    return Trial(
        number=number, name=str(number), settings={}, values=values, first_loss=loss, loss=None, parameters=1,
        seconds=1, failed=None, runs=(),
    )  # fmt: skip


def test_a_setting_that_changes_the_loss_is_found_and_another_is_not() -> None:
    found = setting_effects(SPACE, trials(40, gain=0.05))
    assert [each.key for each in found] == ["model.pooling", "model.dropout"]
    pooling, dropout = found
    assert pooling.matters
    assert pooling.explains > 0.5
    assert not dropout.matters
    assert dropout.explains < 0.2
    best = next(each for each in pooling.values if each.value == "max")
    assert best.effect.high < 0
    assert sum(each.trials for each in pooling.values) == 40
    assert sum(each.effect.value * each.trials for each in pooling.values) == pytest.approx(0, abs=1e-12)


def test_of_chance_alone_no_setting_matters() -> None:
    assert not any(each.matters for each in setting_effects(SPACE, trials(40, gain=0)))


def test_trials_with_the_same_loss_show_no_effect() -> None:
    assert not any(each.matters for each in setting_effects(SPACE, trials(40, gain=0, noise=0)))


def test_few_trials_show_nothing_and_failed_ones_do_not_count() -> None:
    assert setting_effects(SPACE, trials(7, gain=1)) == ()
    some = trials(12, gain=0.05)
    failed = a_trial(99, {"model.dropout": 0.1, "model.pooling": "max"}, None)
    assert setting_effects(SPACE, [*some, failed]) == setting_effects(SPACE, some)
