"""Transformer text classifiers you can see through."""

from __future__ import annotations

TYPE_CHECKING = False  # `python -m glassformer` imports this before it leaves out modules beside a table
if TYPE_CHECKING:
    from glassformer.estimators.text_classifier import TextClassifier
    from glassformer.estimators.text_regressor import TextRegressor
    from glassformer.labels.check import check_labels
    from glassformer.prediction.frames import score

__version__ = "0.1.0"
__all__ = ["TextClassifier", "TextRegressor", "__version__", "check_labels", "score"]


def __getattr__(name: str) -> object:
    # Importing torch takes seconds; `import glassformer` must not.
    if name == "TextClassifier":
        from glassformer.estimators.text_classifier import TextClassifier

        return TextClassifier
    if name == "TextRegressor":
        from glassformer.estimators.text_regressor import TextRegressor

        return TextRegressor
    if name == "check_labels":
        from glassformer.labels.check import check_labels

        return check_labels
    if name == "score":
        from glassformer.prediction.frames import score

        return score
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
