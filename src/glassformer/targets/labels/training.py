"""Run the training of a model that answers with labels. `run.py` asks for what differs between kinds of answers."""

import dataclasses
from typing import Any

from glassformer.data.labels import label_counts, labels_of_blocks, unlike_labels, without_order
from glassformer.data.sources import Sources
from glassformer.data.spellings import new_labels, table_spellings
from glassformer.data.splits import Splits
from glassformer.data.table import Table
from glassformer.errors import quoted
from glassformer.prediction.calibration import fit_temperature
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.labels.target import labels_target
from glassformer.targets.labels.training_held_out import HeldOutLabels, held_out_figures
from glassformer.targets.labels.training_readers import gain_of, lessons_of, readers_in_words, weigh_readers
from glassformer.training import preparation
from glassformer.training.loop import Observer
from glassformer.training.run import Ended, finished_model

_UNEQUAL = 0.8  # of the rows have the most frequent class

prepare, lessons, gain = preparation.prepare, lessons_of, gain_of


def warn(trained: TrainedModel, splits: Splits, observer: Observer) -> None:
    """Say it if the model is not more accurate on the held-out rows than always giving the most frequent class."""
    held_out = splits.train if splits.validation is None else splits.validation
    figures = trained.metrics.get("readers", {})
    accuracy = figures.get("accuracy", trained.metrics["best"].get("validation_accuracy"))
    if accuracy is None or held_out.multilabel:
        return
    frequent = label_counts(splits.train)["label"][0]
    share = float((held_out.frame["label"] == frequent).mean() or 0)
    if accuracy < share + 1e-6:  # the accuracy is a rounded mean
        kind = "cross-validated" if splits.validation is None else "validation"
        advice = (
            "with classes this unequal, accuracy says little. The report says how many rows of each class are found; "
            "`training.class_weights=balanced`, if it is not set, finds more of the rare ones"
            if share > _UNEQUAL
            else "the model learned nothing that helps. Check the label column, and look for other reasons with "
            "`glassformer doctor`"
        )
        observer.on_message(
            f"warning: the {kind} accuracy of {accuracy:.4f} is not above that of always answering "
            f"{quoted(frequent)}, {share:.4f}: {advice}"
        )


def finish(run: Ended) -> tuple[TrainedModel, HeldOutLabels | None]:
    """Calibrate on the held-out rows. Return the model, and these rows."""
    prepared, learned, crossed = run.prepared, run.learned, run.crossed
    labels, logits, temperature, readers, figures = prepared.labels, run.transformer, 1.0, None, {}
    if learned is not None:
        readers, temperature, weighed, learned = weigh_readers(learned, logits)
        run = dataclasses.replace(run, learned=learned)
        weighed |= {} if crossed is None or crossed.broken is None else {"promise": crossed.broken.model_dump()}
        run.trainer.observer.on_message(readers_in_words(readers, weighed))
        figures = {"readers": weighed}
    elif logits is not None and prepared.held_out_labels is not None:
        temperature = fit_temperature(logits, prepared.held_out_labels, multilabel=labels.multilabel)
    held_out = HeldOutLabels.of(prepared, readers, learned, logits)
    kind: dict[str, Any] = {"multilabel": labels.multilabel, "ordered": labels.ordered, "levels": labels.levels}
    target = labels_target(prepared.label_values, temperature=temperature, costs=prepared.costs, **kind)
    figures |= held_out_figures(held_out, run, target)
    return finished_model(run, target=target, readers=readers, metrics=figures), held_out


def doubts(table: Table) -> list[str]:
    """Say what is doubtful about the labels of a table."""
    return [
        *filter(None, (unlike_labels(table), without_order(table), labels_of_blocks(table), table_spellings(table)))
    ]


def news(sources: Sources) -> list[str]:
    """Say which labels the last added table brings."""
    old = dataclasses.replace(sources, added=sources.added[:-1]).labelled
    return [*filter(None, [new_labels(sources.added[-1], old)])]


def from_memory(
    trained: TrainedModel, labels: tuple[Any, ...], *, fold_labels: bool, label_columns: tuple[Any, ...] | None
) -> TrainedModel:
    """Return a model that was trained on rows in memory with what only the caller knows about them.

    Args:
        labels: the label values, in the same order. They keep the caller's types.
        fold_labels: whether labels in several spellings were joined.
        label_columns: the labels of the columns, if the labels were a matrix of 0 and 1.
    """
    own = {"fold_labels": fold_labels} | ({} if label_columns is None else {"label_columns": label_columns})
    target = trained.config.target.model_copy(update={"labels": labels})
    update = {"target": target, "data": trained.config.data | own}
    return dataclasses.replace(trained, config=trained.config.model_copy(update=update))
