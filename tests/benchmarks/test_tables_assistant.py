from typing import Any

from benchmarks.plots import over_optimisation
from benchmarks.tables_assistant import answers_table, ways_tables


def document(worst: float) -> dict[str, Any]:
    def stage(value: float) -> dict[str, Any]:
        return {name: {"value": value} for name in ("well_formed", "about", "favourable", "kl")}

    stages = {"sft": stage(0.5), "best of 4": stage(0.95), "ppo": stage(worst), "grpo": stage(0.99), "dpo": stage(0.95)}
    mean = {name: {key: each["value"] for key, each in found.items()} for name, found in stages.items()}
    row = {"held_out_kl": 0.0, "held_out_reward": -1.0, "held_out_favourable": 0.5}
    run = {
        "seed": 3,
        "stages": stages,
        "first_answers": {name: [" good ", "bad"] for name in ("lm", "sft", "ppo", "grpo")},
    }
    loose = [row, row | {"held_out_kl": 9.0, "held_out_reward": 3.0, "held_out_favourable": 0.125}]
    return {
        "answers": 500, "mean": mean, "worst": mean, "runs": [run],
        "loose": {"preferences alone": loose, "corrupted answers too": loose},
    }  # fmt: skip


def test_ways_side_by_side_with_the_runs_that_went_wrong() -> None:
    text = "\n\n".join(ways_tables(document(0.875)))
    assert "| the start (`align sft`) | 50.0% | 50.0% | 50.0% | 0.50 | 50.0% |" in text
    assert "| best of 4 | 95.0% |" in text
    assert "Policies below 90% in a share: PPO with seed 3." in text
    assert "No policy is below 90% in a share." in "".join(ways_tables(document(0.9375)))


def test_answers_are_quoted_as_they_came() -> None:
    assert "```text\n1. good\n2. bad\n```" in list(answers_table(document(0.875)))


def test_the_curves_name_both_rewards() -> None:
    drawn = over_optimisation(document(0.875))
    assert drawn.count("<polyline") == 4
    assert "preferences alone 9" in drawn
