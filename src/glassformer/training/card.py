"""Write the model card, which says what a model is and is not, from the records of its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassformer.data.inputs import Inputs, example_of
from glassformer.data.wording import counted
from glassformer.models.build import parameter_count
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.kept_texts import TEXTS_FILE
from glassformer.prediction.model_folder import TrainedModel


def model_card(trained: TrainedModel) -> str:
    """Return the Markdown of the model folder's README.md (Mitchell et al. 2019, reduced to what the run knows)."""
    config, data = trained.config, trained.config.data
    best, readers = trained.metrics.get("best", {}), trained.metrics.get("readers")
    labels = ", ".join(str(label) for label in config.labels)
    kind = "any number of the labels" if config.multilabel else "one of the labels"
    parameters = parameter_count(config.model, config.vocab_size, len(config.labels))
    from_others = None if "pretraining" in data else config.init
    origin = "Trained from scratch" if from_others is None else f"Fine-tuned from `{from_others['from']}`"
    shape = (
        f"{parameters:,} parameters: {config.model.in_words()}; {config.tokenizer.kind} vocabulary of "
        f"{config.vocab_size:,}."
    )
    window = (
        f"Reads {config.model.max_seq_len:,} tokens at once, longer texts in overlapping windows."
        if config.tokenizer.max_tokens is None
        else f"Reads the first {config.tokenizer.max_tokens:,} tokens of a text."
    )
    pretraining = _pretraining(data.get("pretraining"))
    silent = config.answers_by_counting
    learned = (
        _distilled(data)
        if "teacher" in data
        else f"{origin} on {counted(data['rows'], 'row')} of `{data['source']}` "
        f"({inputs_in_words(config.data, config.inputs)}, label: `{data['label_column']}`)."
    )
    facts = [
        learned + (_counted_too(data["validation_rows"]) if readers else ""),
        *([] if readers is None else [_readers(trained, readers)]),
        *([] if silent else [*pretraining, shape, window]),
        _validation(config, best, readers, data["validation_rows"]),
        "Probabilities are not calibrated: too few held-out rows, or no mistake among them."
        if config.temperature == 1
        else f"Logits are divided by a temperature of {config.temperature:.3f} before they become probabilities.",
        *_unlike(config),
        *kept_in_words(trained),
        *([f"Its transformer, which is not asked, has {shape} {window}", *pretraining] if silent else []),
        f"Made with glassformer {config.versions['glassformer']}, torch {config.versions['torch']}, "
        f"on {config.created}.",
        f"Fingerprint of the training rows: `{data['fingerprint']}`.",
    ]
    return f"""# A glassformer text classifier

Answers a text with {kind}: {labels}.

{chr(10).join("- " + fact for fact in facts)}

It knows only what such rows taught it. On texts of another kind, language or time its answers and its confidence mean
little. It has not been checked for unfair treatment of anyone.

    glassformer predict FOLDER {example_of(config.inputs)}
"""


def inputs_in_words(data: Mapping[str, Any], inputs: Inputs | None) -> str:
    """Name the columns that a model reads."""
    if inputs is None:
        return f"text: `{data['text_column']}`"
    texts = " and ".join(f"`{name}`" for name in inputs.texts)
    columns = ", ".join(f"`{column.name}`" for column in inputs.columns)
    return f"text: {texts}" + (f", beside it: {columns}" if columns else "")


def _distilled(data: dict[str, Any]) -> str:
    """Say what a student learned from."""
    teacher = data["teacher"]
    return (
        f"Distilled: it learned the answers of the model `{teacher['name']}` to {counted(data['rows'], 'text')} of "
        f"`{data['source']}`, at a temperature of {teacher['temperature']:g}. That model was trained on "
        f"{counted(teacher['rows']['data']['rows'], 'row')} of `{teacher['rows']['data']['source']}`."
    )


def _counted_too(rows: int) -> str:
    return f" The counting reader also learned the {counted(rows, 'validation row')}." if rows else ""


def _validation(config: FolderConfig, best: dict[str, Any], readers: dict[str, Any] | None, rows: int) -> str:
    expect = "Expect a little less on new texts; `glassformer evaluate` measures it."
    if readers is not None and rows and config.answers_by_counting:
        return f"On {counted(rows, 'validation row')}: accuracy {readers['accuracy']:.4f}. {expect}"
    if "validation_agreement" in best:
        known = ""
        if "validation_accuracy" in best:
            texts = counted(config.data["teacher"]["known_labels"], "text")
            known = f" On the {texts} with a known label: accuracy {best['validation_accuracy']:.4f}."
        return (
            f"On {counted(rows, 'held-out text')}: the answer of its teacher to {best['validation_agreement']:.1%}."
            f"{known} `glassformer evaluate` measures it on labelled rows."
        )
    if "validation_accuracy" in best:
        of = counted(rows, "validation row, the one", "validation rows, the ones")
        accuracy = best["validation_accuracy"] if readers is None else readers["accuracy"]
        loss = best.get("calibrated_loss", best["validation_loss"])
        return f"On {of} that chose this epoch: accuracy {accuracy:.4f}, loss {loss:.4f}. {expect}"
    if readers is not None:
        folds, accuracy = readers["folds"], readers["accuracy"]
        return f"In cross-validation with {folds} folds of the training rows: accuracy {accuracy:.4f}. {expect}"
    return (
        "No rows were held out for validation, so nothing is known about new texts yet; `glassformer evaluate` "
        "measures it."
    )


def _unlike(config: FolderConfig) -> list[str]:
    """Return what the card says about texts that are unlike the training data."""
    if config.unlike is None:
        return ["It keeps no hashes of its training words, so it cannot tell which texts are unlike the training data."]
    return [
        f"A text is called unlike the training data if more than {config.unlike.threshold:.0%} of its words and word "
        f"pairs are in fewer than two training texts. About 1 in 100 rows like those of training is, by "
        f"{counted(config.unlike.held_out_rows, 'held-out row')}."
    ]


def kept_in_words(trained: TrainedModel) -> list[str]:
    """Return what the card says about the training texts, if the folder has them."""
    if trained.kept is None:
        return []
    return [f"The folder holds the training texts (`{TEXTS_FILE}`): whoever has it can read them."]


_AS_PART = {"counting": "a counting reader", "transformer": "the transformer"}


def _readers(trained: TrainedModel, readers: dict[str, Any]) -> str:
    """Say how the readers share the answer."""
    config = trained.config
    assert config.readers is not None
    if config.answers_by_counting:
        why = "the held-out rows do not show that the transformer helps"
        if readers["transformer_accuracy"] is None:
            why = "no transformer was trained"
        return f"Answers by counting n-grams alone (held-out accuracy {readers['counting_accuracy']:.4f}): {why}."
    weights = config.readers.weights
    parts = [f"{_AS_PART.get(name, f'the reader `{name}`')}, times {weight:.3f}" for name, weight in weights.items()]
    accuracies = [readers[f"{name}_accuracy"] for name in weights]
    alone = " and ".join("none" if accuracy is None else f"{accuracy:.4f}" for accuracy in accuracies)
    return f"Adds up the logits of {', and of '.join(parts)}. Held-out accuracy alone: {alone}."


def _pretraining(record: dict[str, Any] | None) -> list[str]:
    """Return what the card says about pre-training, if there was any."""
    if record is None:
        return []
    unlabelled = ", ".join(f"`{source}`" for source in record["unlabelled"])
    without = f", {record['unlabelled_texts']:,} of them from {unlabelled}" if unlabelled else ""
    left_out = sum(record["left_out"].get(reason, 0) for reason in ("test", "validation"))
    kept_out = (
        f" {counted(left_out, 'unlabelled text was', 'unlabelled texts were')} left out as test or validation texts."
        if left_out
        else ""
    )
    return [
        f"The transformer was pre-trained, without labels, for {record['seconds'] / 60:.1f} minutes on "
        f"{counted(record['texts'], 'text')}{without}: {record['tokens']:,} tokens, read {record['passes']:g} times."
        f"{kept_out}"
    ]
