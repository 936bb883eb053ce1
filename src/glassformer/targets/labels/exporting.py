"""What exports of a model with labels depend on. `number/exporting.py` says the same of a number."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from glassformer.data.table import Table
from glassformer.data.wording import share_in_percent
from glassformer.errors import UsageError
from glassformer.evaluation.metrics import measure
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.costs import in_words
from glassformer.targets.labels.target import labels_of

LEAST_AGREEMENT, MOST_F1_LOST = 0.995, 0.005
"""An export in int8 must give so many texts the same labels, and may lose so much of the macro F1."""


def compared(config: FolderConfig, ours: Any, theirs: Any, rows: Table) -> dict[str, Any]:
    """Compare the answers of a model, and then those of its export, to rows whose labels are known."""
    labels, names = config.label_set.encode(rows), config.label_set.names
    same = [first == second for first, second in zip(ours.named, theirs.named, strict=True)]
    f1, exported = (
        measure(each.probs, labels, names, costs=each.costs, resamples=1).macro.f1 for each in (ours, theirs)
    )
    return {
        "rows": len(labels),
        "same_labels": float(np.mean(same)),
        "largest_change_of_a_probability": float(np.abs(ours.probs - theirs.probs).max()),
        "macro_f1": f1,
        "macro_f1_exported": exported,
    }


def said(checked: Mapping[str, Any]) -> str:
    return (
        f"On {checked['rows']:,} {checked['kind']}, {share_in_percent(checked['same_labels'])} get the same labels as "
        f"from the model, and the macro F1 is {checked['macro_f1_exported']:.3f} (the model: "
        f"{checked['macro_f1']:.3f})."
    )


def changed(checked: Mapping[str, Any]) -> str | None:
    """Return why these are other answers. None if they are as good as the same."""
    lost = checked["macro_f1"] - checked["macro_f1_exported"]
    if checked["same_labels"] >= LEAST_AGREEMENT and lost <= MOST_F1_LOST:
        return None
    return (
        f"on {checked['rows']:,} {checked['kind']}, {share_in_percent(checked['same_labels'])} keep their labels (at "
        f"least {LEAST_AGREEMENT:.1%} must), and the macro F1 goes from {checked['macro_f1']:.3f} to "
        f"{checked['macro_f1_exported']:.3f}"
    )


def line(trained: TrainedModel) -> tuple[float, float]:
    """Return the factor and the addend that make the answer of the transformer alone of each of its scores.

    Raises `UsageError` if the library transformers cannot express it.
    """
    config, target = trained.config, labels_of(trained.config.target)
    if config.n_classes == 1 and not target.multilabel:
        raise UsageError("it has one label, so there is nothing to decide; transformers would take it for a regression")
    if config.readers is None:
        return 1 / target.temperature, 0.0
    return config.readers.transformer.weight / config.readers.transformer.temperature, 0.0


def about(config: FolderConfig) -> dict[str, Any]:
    """Return what the `config.json` of that library holds about the answers."""
    return {"problem_type": "multi_label_classification" if config.target.multilabel else "single_label_classification"}


def in_pipelines(config: FolderConfig) -> tuple[str, str]:
    """Return what a pipeline of that library is given besides, and a sentence about its answers."""
    calibrated = "The temperature of the model is part of the last layer. The probabilities are calibrated."
    if costs := labels_of(config.target).costs:
        calibrated += (
            " They follow no costs: the model answers by the least expected cost "
            f"({in_words(costs)}), and a pipeline has no such rule. Choose by the probabilities yourself."
        )
    return ", top_k=None" if config.target.multilabel else "", calibrated


def page(trained: TrainedModel) -> dict[str, Any]:
    """Return what a page that answers in a browser needs to know."""
    target = labels_of(trained.config.target)
    labels = list(target.names)
    levels = None if target.tree is None else target.tree.separator
    costs = None if (rule := target.rule) is None else {"wrong": rule.wrong.tolist(), "review": rule.review}
    about = {"labels": labels, "levels": levels, "costs": costs}
    return {"multilabel": target.multilabel, "temperature": target.temperature, **about}
