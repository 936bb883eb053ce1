"""What the tests of the estimators learn from, and settings that train in a moment."""

from typing import Any

from glassformer import TextClassifier

TEXTS = ["good film", "bad film", "fine film", "dull film"] * 6
BINARY = [1, 0] * 12
BOTH = {"training.min_steps_per_epoch": 4, "model.dropout": 0, "validation.min_rows": 200}
"""Settings of both readers."""
ALONE = BOTH | {"model.counting": "none"}
"""Of the transformer alone, which are enough where the readers do not matter: it is cross-fitted for the other one."""
LISTS = [["b", "a"], ["b"], [], ["a"]] * 6


def small(**settings: Any) -> TextClassifier:
    """A classifier that trains in a moment."""
    usual: dict[str, Any] = {"preset": "tiny", "epochs": 1, "settings": ALONE}
    return TextClassifier(**usual | settings)
