import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.training.optimizers import learning_rate
from glassformer.training.training_config import TrainingConfig

SCHEDULES = ["cosine", "linear", "constant"]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        # after a warm-up of a fifth, 0.4 and 0.6 and 0.8 are a quarter, a half and three quarters of the way down
        ("cosine", [0.0, 0.02, 0.04, 0.03414214, 0.02, 0.00585786, 0.0]),
        ("linear", [0.0, 0.02, 0.04, 0.03, 0.02, 0.01, 0.0]),
        ("constant", [0.0, 0.02, 0.04, 0.04, 0.04, 0.04, 0.04]),
    ],
)
def test_by_hand(schedule: str, expected: list[float]) -> None:
    config = TrainingConfig.model_validate({"learning_rate": 0.04, "warmup": 0.2, "schedule": schedule})
    rates = [learning_rate(config, progress) for progress in (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)]
    assert rates == pytest.approx(expected, abs=1e-8)


def test_by_epoch_the_rate_is_constant_within_each_and_rises_after_the_last() -> None:
    values = {"learning_rate": 0.04, "warmup": 0.0, "schedule": "cosine-by-epoch", "cosine_epochs": 2, "epochs": 4}
    config = TrainingConfig.model_validate(values)
    rates = [learning_rate(config, progress) for progress in (0.0, 0.24, 0.26, 0.49, 0.6, 0.8)]
    assert rates == pytest.approx([0.04, 0.04, 0.02, 0.02, 0.0, 0.02], abs=1e-8)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_without_warm_up_it_starts_at_the_peak(schedule: str) -> None:
    config = TrainingConfig.model_validate({"learning_rate": 0.3, "warmup": 0.0, "schedule": schedule})
    assert learning_rate(config, 0.0) == pytest.approx(0.3)


@given(st.sampled_from(SCHEDULES), st.floats(0, 0.9), st.floats(0, 1), st.floats(0, 1))
def test_up_to_the_peak_then_never_up_again(schedule: str, warmup: float, one: float, other: float) -> None:
    config = TrainingConfig.model_validate({"learning_rate": 2.0, "warmup": warmup, "schedule": schedule})
    early, late = sorted((one, other))
    first, second = learning_rate(config, early), learning_rate(config, late)
    assert min(first, second) >= -1e-9
    assert max(first, second) <= 2.0 + 1e-9
    if late < warmup:
        assert first <= second
    if early >= warmup:
        assert first >= second - 1e-9
