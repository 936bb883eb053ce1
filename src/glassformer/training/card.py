"""Write the model card, which says what a model is and is not, from the records of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from glassformer.data.inputs import Inputs, example_of
from glassformer.data.wording import counted
from glassformer.models.build import parameter_count
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.kept_texts import TEXTS_FILE
from glassformer.prediction.label_doubts import Doubts
from glassformer.prediction.model_folder import TrainedModel


@dataclass(frozen=True, kw_only=True)
class Said:
    """What is said of a trained model by its kind of answer (`PART` of `targets/*/training_card.py`).

    Attributes:
        kind, answers: the title of the card, and how a text is answered.
        column: what the learned column holds.
        learned: more about the learned rows.
        readers: how the readers share the answer.
        measured: what held-out rows say, a fact each.
        limits: the last words of the card.
        figures: fields of the JSON that training prints.
        in_short: what held-out rows say, in a few words.
        doubts: the key of `metrics.json` with doubtful rows, their record, and why a row is doubtful.
        command: the command that checks all rows, if there is one.
    """

    kind: str
    answers: Callable[[TrainedModel], str]
    column: str
    learned: Callable[[TrainedModel], str]
    readers: Callable[[TrainedModel], list[str]]
    measured: Callable[[TrainedModel], list[str]]
    limits: str
    figures: Callable[[TrainedModel], dict[str, Any]]
    in_short: Callable[[TrainedModel], str]
    doubts: tuple[str, type[Doubts[Any]], str]
    command: Callable[[FolderConfig], str | None] = lambda _: None


def said_of(trained: TrainedModel) -> Said:
    """Return what the kind of answer says of a model."""
    found: Said = trained.config.target.part("training_card")
    return found


def model_card(trained: TrainedModel) -> str:
    """Return the Markdown of the model folder's README.md (Mitchell et al. 2019, reduced to what the run knows)."""
    config, data, said = trained.config, trained.config.data, said_of(trained)
    parameters = parameter_count(config.model, config.vocab_size, config.n_classes)
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
    untrained = "" if trained.metrics.get("history") else " and was not trained"
    learned = (
        _distilled(data)
        if "teacher" in data
        else f"{origin} on {counted(data['rows'], 'row')} of `{data['source']}` "
        f"({_inputs_in_words(config.data, config.inputs)}, {said.column}: `{data['label_column']}`)."
    )
    counting = (
        _counted_too(data["validation_rows"]) if config.readers is not None and trained.metrics.get("readers") else ""
    )
    facts = [
        learned + said.learned(trained) + counting,
        *said.readers(trained),
        *([] if silent else [*pretraining, shape, window]),
        *said.measured(trained),
        *_unlike(config),
        *_kept(trained),
        *([f"Its transformer, which is not asked{untrained}, has {shape} {window}", *pretraining] if silent else []),
        f"Made with glassformer {config.versions['glassformer']}, torch {config.versions['torch']}, "
        f"on {config.created}.",
        f"Fingerprint of the training rows: `{data['fingerprint']}`.",
    ]
    return f"""# A glassformer {said.kind}

Answers a text with {said.answers(trained)}

{chr(10).join("- " + fact for fact in facts)}

{said.limits}

    glassformer predict FOLDER {example_of(config.inputs)}
"""


def _inputs_in_words(data: Mapping[str, Any], inputs: Inputs | None) -> str:
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


def _unlike(config: FolderConfig) -> list[str]:
    """Return what the card says about texts that are unlike the training data."""
    if config.unlike is None:
        return ["It keeps no hashes of its training words, so it cannot tell which texts are unlike the training data."]
    return [
        f"A text is called unlike the training data if more than {config.unlike.threshold:.0%} of its words and word "
        f"pairs are in fewer than two training texts. About 1 in 100 rows like those of training is, by "
        f"{counted(config.unlike.held_out_rows, 'held-out row')}."
    ]


def _kept(trained: TrainedModel) -> list[str]:
    """Return what the card says about the training texts, if the folder has them."""
    if trained.kept is None:
        return []
    return [f"The folder holds the training texts (`{TEXTS_FILE}`): whoever has it can read them."]


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
