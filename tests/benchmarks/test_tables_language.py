from pathlib import Path
from typing import Any

from benchmarks.tables import kinds
from benchmarks.tables_common import fill
from tests.benchmarks.samples import BLOCK, shown


def estimate(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.1, "high": value + 0.2}


def shown_of_imdb(kind: str, folder: Path, document: dict[str, Any]) -> str:
    text = shown(kind, "imdb", folder, document)
    assert text.startswith(f"# A page\n\n<!-- {kind}: imdb -->\n| ")
    return text


def test_what_has_no_result_is_said(tmp_path: Path) -> None:
    for kind in ("language-model", "steering"):
        assert "-->\nNot measured yet.\n<!-- end -->" in fill(BLOCK.format(f"{kind}: imdb"), kinds(tmp_path))


def test_language_models_side_by_side(tmp_path: Path) -> None:
    parts = {
        part: {"texts": texts, "bytes": 2_000_000}
        for part, texts in (("training", 9_000), ("validation", 70), ("test", 50))
    }
    ours = {
        "bits_per_byte": estimate(1.25),
        "parameters": 1_234,
        "training_tokens_per_second": 5_678.4,
        "steps": 321,
        "generation": {
            "batch 1": {"cached": 40.0, "uncached": None},
            "batch 32": {"cached": 3_000.0, "uncached": 7.0},
        },
    }
    counted = {
        "bits_per_byte": estimate(1.5),
        "above_ours": estimate(0.25),
        "ngrams": [10, 20],
        "training_tokens_per_second": 9.0,
    }
    document = {
        "systems": {"ours": ours, "kneser-ney-5": counted},
        "data": parts | {"left_out": 3, "test_split": "50 of 60 test texts"},
        "minutes": 20.0,
        "seed": 4,
    }
    text = shown_of_imdb("language-model", tmp_path, document)
    assert "| ours, preset `small` | 1.2500 [1.1500, 1.4500] | – | 1,234 | 5,678 |" in text
    assert "| Kneser–Ney, order 5 | 1.5000 [1.4000, 1.7000] | 0.2500 [0.1500, 0.4500] | 30 n-grams | 9 |" in text
    assert "| ours, preset `small` | 40 | – | 3,000 | 7 |" in text
    assert "9,000 training texts (2.0 MB; 3 others equal a test text and were left out)" in text
    assert "had 20 minutes (ours, preset `small`: 321 steps); seed 4." in text


def test_steered_policies_beside_what_they_were(tmp_path: Path) -> None:
    def policy(liked: float, kl: float, **more: Any) -> dict[str, Any]:
        figures = {"liked": {"A": estimate(liked)}, "kl": estimate(kl), "distinct_2": 0.75, "length": 38.6}
        return figures | {"texts": [f"so {liked}"]} | more

    document = {
        "judges": {"A": 0.8125},
        "reward": 0.9,
        "before": policy(0.5, 0),
        "runs": [policy(0.875, 3, algorithm="ppo", seed=seed) for seed in (0, 1)],
        "summary": {
            "ppo": {
                "liked": {"A": {"mean": 0.875, "std": 0.0625}},
                "above_before": {"A": estimate(0.375)},
                "kl": {"mean": 3.0, "std": 0.5},
                "distinct_2": {"mean": 0.75, "std": 0.0},
            }
        },
    }
    text = shown_of_imdb("steering", tmp_path, document)
    assert "| before | 0.500 [0.400, 0.700] | 0.00 | 0.75 | 39 |" in text
    assert "| PPO, 2 seeds | .875 ± .062 | 3.00 ± 0.50 | 0.75 ± 0.00 |  |" in text
    assert "| gain over before | A |\n| --- | --- |\n| PPO | +.375 [+.275, +.575] |" in text
    assert "Accuracy on the first 60 words of test texts: A .812, " in text
    assert "```text\n1. so 0.5\n```" in text
    assert "after PPO, seed 0:\n\n```text\n1. so 0.875\n```" in text
