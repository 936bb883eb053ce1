"""A contestant has the figures of the number of threads with which it is the fastest."""

from typing import Any

from benchmarks.training_speed import CONTESTANTS, summary


def figures(speed: float) -> dict[str, Any]:
    return {
        "rows": 5, "parameters": 7, "texts_per_second": speed, "seconds_to_first_step": 1.0, "accuracy_by_epoch": [0.5],
        "seconds_by_epoch": [speed],
    }  # fmt: skip


def test_each_is_measured_at_its_best() -> None:
    rounds = [
        {(name, threads): figures(speed) for name in CONTESTANTS for threads, speed in speeds(name, number)}
        for number in (0, 1, 2)
    ]
    found = {each["name"]: each for each in summary(rounds)["contestants"]}
    assert found["glassformer"]["threads"] == 2
    assert found["glassformer"]["texts_per_second"] == [60, 66, 72]
    assert found["glassformer"]["with_other_threads"] == {"1": [40, 41, 42]}
    assert found["glassformer"]["ours_is_faster_by"] == {"median": 1, "lowest": 1, "highest": 1}
    theirs = found["Trainer, BERT, float32"]
    assert theirs["threads"] == 1
    assert theirs["ours_is_faster_by"] == {"median": 2, "lowest": 1.5, "highest": 2}
    assert theirs["seconds_by_epoch"] == [30]


def speeds(name: str, number: int) -> list[tuple[int, float]]:
    """Return texts per second with one and with two threads in a round."""
    if name == "glassformer":
        return [(1, 40 + number), (2, 60 + 6 * number)]
    return [(1, [30, 33, 48][number]), (2, 20)]
