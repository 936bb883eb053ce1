"""What is said of a trained model of labels. `number/training_card.py` says the same of a number."""

from typing import Any

from glassformer.data.wording import counted, in_markdown, share_in_percent
from glassformer.prediction.answering_config import TRANSFORMER, named
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.labels.target import labels_of
from glassformer.training.readers import TOO_LITTLE

KIND, COLUMN = "text classifier", "label"
LIMITS = """\
Only such rows taught it what to answer. On texts of another kind, language or time its answers and its confidence mean
little. It has not been checked for unfair treatment of anyone."""
DOUBTED = "a label that the model doubts"
"""What a doubtful row has."""


def answers(trained: TrainedModel) -> str:
    """Say how a text is answered."""
    kind = "any number of the labels" if trained.config.target.multilabel else "one of the labels"
    return f"{kind}: {', '.join(in_markdown(str(label)) for label in labels_of(trained.config.target).labels)}."


_AS_PART = {
    "counting": "a counting reader",
    "body": "a linear model of word vectors",
    "encoder": "a linear model of the vectors of a pre-trained encoder",
    "rules": "the rules of a file",
    "transformer": "the transformer",
}


def learned(trained: TrainedModel) -> str:  # noqa: ARG001 (the card names the labels)
    return ""


def readers(trained: TrainedModel) -> list[str]:
    """Say how the readers share the answer."""
    config, readers = trained.config, trained.metrics.get("readers")
    if readers is None or config.readers is None:
        return []
    why = "the held-out rows do not show that the transformer helps"
    if readers["transformer_accuracy"] is None:
        why = f"{TOO_LITTLE[0].lower()}{TOO_LITTLE[1:]}"
        if "promise" not in readers:
            why = "no transformer was trained"
    if config.answers_by_counting:
        return [f"Answers by counting n-grams alone (held-out accuracy {readers['counting_accuracy']:.4f}): {why}."]
    weights = {name: weight for name, weight in config.readers.weights.items() if weight}
    parts = [f"{_AS_PART.get(name, f'the reader `{name}`')}, times {weight:.3f}" for name, weight in weights.items()]
    accuracies = [readers[f"{name}_accuracy"] for name in weights]
    alone = " and ".join("none" if accuracy is None else f"{accuracy:.4f}" for accuracy in accuracies)
    unasked = [name for name, each in config.readers.root.items() if not each.weight and name != TRANSFORMER]
    left_out = f" Held-out rows did not show that {' or '.join(map(named, unasked))} helps." if unasked else ""
    left_out += f" The transformer is not asked: {why}." if config.transformer_is_silent else ""
    return [f"Adds up the logits of {', and of '.join(parts)}. Held-out accuracy alone: {alone}.{left_out}"]


def measured(trained: TrainedModel) -> list[str]:
    config = trained.config
    temperature = labels_of(config.target).temperature
    calibrated = (
        "Probabilities are not calibrated: too few held-out rows, or no mistake among them."
        if temperature == 1
        else f"Logits are divided by a temperature of {temperature:.3f} before they become probabilities."
    )
    return [_validation(trained), calibrated]


def _validation(trained: TrainedModel) -> str:
    config, best, readers = trained.config, trained.metrics.get("best", {}), trained.metrics.get("readers")
    rows = config.data["validation_rows"]
    measure = "`glassformer evaluate` measures it on new texts."
    if readers is not None and rows and config.transformer_is_silent:
        return f"On {counted(rows, 'validation row')}: {_accuracy(trained, readers['accuracy'])}. {measure}"
    if "validation_agreement" in best:
        known = ""
        if "validation_accuracy" in best:
            texts = counted(config.data["teacher"]["known_labels"], "text")
            known = f" On the {texts} with a known label: accuracy {best['validation_accuracy']:.4f}."
        agreement = share_in_percent(best["validation_agreement"])
        return (
            f"On {counted(rows, 'held-out text')}: the answer of its teacher to {agreement}."
            f"{known} `glassformer evaluate` measures it on labelled rows."
        )
    if "validation_accuracy" in best:
        of = counted(rows, "validation row, the one", "validation rows, the ones")
        accuracy = best["validation_accuracy"] if readers is None else readers["accuracy"]
        loss = best.get("calibrated_loss", best["validation_loss"])
        said = f"{_accuracy(trained, accuracy)}, loss {loss:.4f}. Expect a little less on new texts"
        return f"On {of} that chose this epoch: {said}; `glassformer evaluate` measures it."
    if readers is not None:
        said = _accuracy(trained, readers["accuracy"])
        return f"In cross-validation with {readers['folds']} folds of the training rows: {said}. {measure}"
    return (
        "No rows were held out for validation, so nothing is known about new texts yet; `glassformer evaluate` "
        "measures it."
    )


def figures(trained: TrainedModel) -> dict[str, Any]:
    target, metrics = labels_of(trained.config.target), trained.metrics
    readers = {"readers": metrics.get("readers"), "best": metrics["best"]}
    return {"labels": list(target.labels), "temperature": target.temperature, **readers}


def in_short(trained: TrainedModel) -> str:
    best, readers = trained.metrics["best"], trained.metrics.get("readers")
    if not readers and "validation_accuracy" not in best:
        return f"training accuracy {best['train_accuracy']:.4f} (nothing was held out)"
    accuracy = readers["accuracy"] if readers else best["validation_accuracy"]
    if readers and readers["folds"] > 1:
        folds = f"{readers['folds']} folds"
        return f"cross-validated {_accuracy(trained, accuracy, folds)}"
    said = f"validation {_accuracy(trained, accuracy)}"
    if readers and trained.config.transformer_is_silent:
        return said
    judged = "calibrated loss" if "calibrated_loss" in best else "validation loss"
    epoch = f"{trained.metrics['best_epoch']} of {len(trained.metrics['history'])}"
    return f"{said} in epoch {epoch}, the one with the lowest {judged}"


def _accuracy(trained: TrainedModel, accuracy: float, *more: str) -> str:
    """Return an accuracy on held-out rows, with its interval if it is a share of them, and more in the brackets."""
    readers, worth = trained.metrics.get("readers"), trained.metrics.get("held_out_worth")
    if worth is not None and not trained.config.target.multilabel and "teacher" not in trained.config.data:
        from glassformer.evaluation.intervals import wilson  # SciPy

        rows = readers["held_out_rows"] if readers else trained.config.data["validation_rows"]
        estimate = wilson(accuracy * rows, rows, worth=worth)
        more = (f"95% interval {estimate.low:.4f} to {estimate.high:.4f}", *more)
    if labels_of(trained.config.target).costs:
        more = (*more, "without your costs, by the most probable labels")
    return f"accuracy {accuracy:.4f}" + (f" ({', '.join(more)})" if more else "")
