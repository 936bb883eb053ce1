"""A model that is served: its answers with what was read, its explanations, and its card."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pydantic import BaseModel
from tokenizers import Encoding

from glassformer.data.arrays import IntArray
from glassformer.data.json_files import MOST_BYTES, read_bounded
from glassformer.data.tokenizers import unknown_words_of
from glassformer.data.windows import window_counts
from glassformer.errors import GlassformerError, UsageError, brief_value
from glassformer.explanation.by_reader import shares_by_reader, total_of
from glassformer.explanation.counterfactual import Steps, searching
from glassformer.explanation.explain import explain
from glassformer.explanation.question import Question
from glassformer.explanation.reading import TokenReading
from glassformer.prediction.answering import Answering
from glassformer.prediction.exported import ExportedPredictor
from glassformer.prediction.folder_names import EVALUATION_FOLDER, FIGURES_FILE, SNAPSHOTS_FOLDER, TIME_LAPSE_FILE
from glassformer.prediction.load_answering import load_answering
from glassformer.serving.limits import RefusedError
from glassformer.targets.target import Target

if TYPE_CHECKING:
    from glassformer.evaluation.result import Evaluation
    from glassformer.prediction.predictor import Predictor

_UNKNOWN_SHOWN = 20
Figures = TypeVar("Figures", bound=BaseModel)


Version = frozenset[tuple[str, int, int, int]]


def version_of(folder: Path) -> Version:
    """Return the names of the files in a folder, with what changes if one of them is written or replaced.

    Hidden files do not count: a run that writes into the folder holds a lock file there while it trains.
    """
    try:
        with os.scandir(folder) as entries:
            files = [
                (entry.name, entry.stat()) for entry in entries if entry.is_file() and not entry.name.startswith(".")
            ]
    except OSError:  # the folder is being replaced
        return frozenset()
    return frozenset((name, found.st_ino, found.st_mtime_ns, found.st_size) for name, found in files)


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """A model with the name that requests use.

    Attributes:
        version: what its folder held just before it was read.
        asked: what is asked of each answer (see `Target.answers`).
    """

    name: str
    folder: Path
    predictor: Answering
    version: Version = frozenset()
    device: str = "auto"
    asked: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, name: str, folder: Path, *, device: str) -> ServedModel:
        """Read a model folder or an exported model (raises what `load_answering` raises)."""
        version = version_of(folder)
        predictor = load_answering(folder, device=device)
        return cls(name=name, folder=folder, predictor=predictor, version=version, device=device)

    @property
    def whole(self) -> Predictor:
        """The predictor of a model folder.

        Raises:
            UsageError: the model was exported.
        """
        if self.exported:
            raise UsageError(f"the model {self.name} was exported, so it only answers and explains")
        from glassformer.prediction.predictor import Predictor  # it needs PyTorch

        assert isinstance(self.predictor, Predictor)
        return self.predictor

    @property
    def exported(self) -> bool:
        return isinstance(self.predictor, ExportedPredictor)

    @property
    def target(self) -> Target:
        """What its answers are."""
        return self.predictor.trained.config.target

    @property
    def columns(self) -> dict[str, type]:
        """The columns that its answers add to a table (see `Target.columns`)."""
        return self.target.columns | ({"needs_review": bool} if "review_below" in self.asked else {})

    @property
    def depends_on_batch(self) -> bool:
        """Whether the answer to a text depends on the texts that are answered together with it.

        With weights of one byte, all texts of a batch share the scale of a layer's numbers.
        """
        if not isinstance(self.predictor, ExportedPredictor):
            return False
        config = self.predictor.trained.config
        return config.precision == "int8" and not config.transformer_is_silent

    def read(self, given: str | Mapping[str, Any]) -> str:
        """Return what the model reads: a text, or of a model with several inputs a composed row.

        Raises:
            UsageError: the model reads the other kind, or the row lacks an input.
        """
        inputs = self.predictor.trained.config.inputs
        if inputs is not None:
            return inputs.compose(given)  # it refuses a text in a sentence
        if not isinstance(given, str):
            raise UsageError(f"the model {self.name} reads one text, not a row of several inputs; send a string")
        return given

    def as_trained(self, given: str | Mapping[str, Any], label: Any, group: Any = None) -> dict[str, Any]:
        """Return what was given, its label, and its group if it has one, as a row of its training table.

        Raises:
            UsageError: there is a group, and the model was trained without groups.
        """
        row = {self.predictor.text_column or "text": given} if isinstance(given, str) else dict(given)
        row |= {self._made_of.data.label_column or "label": label}
        if group is None:
            return row
        if self.group is None:
            raise UsageError(f"the model {self.name} was trained without groups; leave out `group=`")
        return row | {self.group: group}

    @property
    def group(self) -> str | None:
        """The column of the groups of its training rows. None if it was trained without groups."""
        column: str | None = self._made_of.recipe.validation.group
        return column

    @property
    def _made_of(self) -> Any:
        config: Any = self.predictor.trained.config
        return config.made_of if self.exported else config.remembered

    def answers(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Return the record of each answer (`Answers.records`), and under `reading` what the transformer read."""
        trained = self.predictor.trained
        tokens, readings = list[IntArray](), list[dict[str, Any] | None]()
        if trained.config.transformer_is_silent:
            readings = [None] * len(texts)
        else:  # each text is cut once
            for text, encoding in zip(texts, trained.tokenizer.encodings(texts), strict=True):
                tokens.append(np.array(encoding.ids, dtype=np.int64))
                readings.append(self._reading(text, encoding))
        records = self.predictor.answer(texts, tokens=tokens, **self.asked).records()
        return [record | {"reading": reading} for record, reading in zip(records, readings, strict=True)]

    def _reading(self, text: str, encoding: Encoding) -> dict[str, Any] | None:
        """Say how the transformer reads a text: whole, in windows, or only its beginning. None if it is empty."""
        if not text.strip():
            return None
        window, most = self.predictor.max_seq_len, self.predictor.trained.config.tokenizer.max_tokens
        length = len(encoding)
        windows = 1 if length < window else int(window_counts(np.array([length]), window)[0])
        note = None
        if most is not None and length >= most and max(end for _, end in encoding.offsets) < len(text.rstrip()):
            note = f"The transformer read only the first {most:,} tokens of the text."
        elif windows > 1:
            note = (
                f"The transformer read {length:,} tokens in {windows:,} overlapping windows of {window:,}, and its "
                "logits are their mean."
            )
        unknown = unknown_words_of(text, encoding)
        return {
            "tokens": length,
            "windows": windows,
            "note": note,
            "unknown_words": unknown[:_UNKNOWN_SHOWN],
            "more_unknown_words": max(0, len(unknown) - _UNKNOWN_SHOWN),
        }

    def explanation(self, text: str, *, label: Any, method: str | None, nearest: bool) -> dict[str, Any]:
        """Return the JSON of an explanation.

        Raises:
            UsageError: what `explain` raises.
        """
        return explain(self.predictor, text, label=label, method=method, nearest=nearest).as_json()

    def counterfactual(self, text: str, **asked: Any) -> Steps:
        """Search for the smallest change of words that turns the answer, in steps.

        Raises:
            UsageError: what `Question.ask` raises, or there is nothing to search for.
        """
        question = Question.ask(self.predictor, text, **asked)
        return (yield from searching(question, total_of(shares_by_reader(question))))

    def heads(self, text: str, *, label: Any) -> dict[str, Any]:
        """Return what each attention head adds to the margin, and how much attention each word gets from it.

        Raises:
            UsageError: no head takes part in the answer, or what `Question.ask` raises.
        """
        question = Question.ask(self.predictor, text, label=label)
        reading = self._read_by_heads(question)
        from glassformer.explanation.heads import heads_of

        heads = heads_of(reading, len(question.text.words))
        return question.asked.about | {"words": _words(question), "heads": [asdict(head) for head in heads]}

    def attention(self, text: str, *, word: int) -> dict[str, Any]:
        """Return the attention of each head from a word.

        Raises:
            UsageError: no head takes part in the answer, or what `attention_from_word` raises.
        """
        question = Question.ask(self.predictor, text)
        reading = self._read_by_heads(question)
        from glassformer.explanation.heads import attention_from_word

        heads = attention_from_word(reading, word, len(question.text.words))
        return {"word": word, "words": _words(question), "heads": [asdict(head) for head in heads]}

    @property
    def has_heads(self) -> bool:
        """Whether attention heads take part in the answers."""
        if self.exported or self.predictor.trained.config.transformer_is_silent:
            return False
        from glassformer.explanation.heads import blocks_with_heads

        return bool(blocks_with_heads(self.whole.trained.model))

    def _read_by_heads(self, question: Question) -> TokenReading:
        if question.reading is None or not self.has_heads:
            raise UsageError(f"the model {self.name} answers without attention heads")
        return question.reading

    @property
    def time_lapse(self) -> Path | None:
        """The page of the snapshots that training took. None if it took none."""
        path = self.folder / SNAPSHOTS_FOLDER / TIME_LAPSE_FILE
        return path if path.is_file() else None

    def about(self) -> dict[str, Any]:
        config = self.predictor.trained.config
        return {
            "name": self.name,
            "exported": self.exported,
            **self._what_it_answers(),
            "asked": config.asked,
            "has_heads": self.has_heads,
            **({} if config.inputs is None else {"inputs": config.inputs.described()}),
            **({} if self.group is None else {"group": self.group}),
            "has_time_lapse": self.time_lapse is not None,
            "vocabulary": config.vocab_size,
            "window": self.predictor.max_seq_len,
            "measured": self._measured(),
            "card": self._card(),
        }

    def _what_it_answers(self) -> dict[str, Any]:
        config = self.predictor.trained.config
        if isinstance(self.predictor, ExportedPredictor):
            exported = self.predictor.trained.config
            keeps_texts, parameters, created = False, exported.parameters, exported.made_of.created
        else:
            trained = self.whole.trained
            keeps_texts, created = trained.kept is not None, trained.config.created
            parameters = sum(weight.numel() for weight in trained.model.parameters())
        return {
            **config.target.described(),
            "keeps_texts": keeps_texts,
            "parameters": parameters,
            "created": created,
        }

    def _measured(self) -> dict[str, Any] | None:
        """Return what `glassformer evaluate` found, if it wrote that into the model folder, and it is not too good."""
        found: Evaluation | None = figures_in(self.folder, self.target.part("evaluation_result"))
        if found is None or found.too_good:
            return None
        return {
            "data": found.data.source,
            "rows": found.metrics.rows,
            **{name: each.model_dump() for name, each in found.metrics.main.items()},
            "verdict": found.duel.verdict,
        }

    def _card(self) -> str:
        card = self.folder / "README.md"
        if card.is_symlink():  # a folder of somebody else's would show any file of yours to clients
            return ""
        try:
            return read_bounded(card, MOST_BYTES, "README.md").decode("utf-8")
        except (OSError, UnicodeDecodeError, GlassformerError):
            return ""


def figures_in(folder: Path, kind: type[Figures]) -> Figures | None:
    """Return what `glassformer evaluate` wrote into a model folder. None if there is nothing that can be read."""
    try:
        return kind.model_validate_json(
            read_bounded(folder / EVALUATION_FOLDER / FIGURES_FILE, MOST_BYTES, FIGURES_FILE)
        )
    except (OSError, ValueError, GlassformerError):
        return None


def _words(question: Question) -> list[dict[str, Any]]:
    spans = [question.layout.span(word.start, word.end) for word in question.text.words]
    return [
        {"word": word.text, "start": start, "end": end}
        for word, (start, end) in zip(question.text.words, spans, strict=True)
    ]


def load_models(folders: Sequence[Path], *, device: str) -> dict[str, ServedModel]:
    """Read model folders. Models are named by their folders.

    Raises:
        UsageError: a folder holds no classifier, or is named twice.
    """
    resolved = [folder.resolve() for folder in folders]
    for number, folder in enumerate(resolved):
        if (first := resolved.index(folder)) < number:
            raise UsageError(f"{folders[first]} and {folders[number]} are the same model; name each model once")
    names = [folder.name for folder in resolved]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    return {name: ServedModel.load(name, folder, device=device) for name, folder in zip(names, folders, strict=True)}


def named(models: Mapping[str, ServedModel], name: str | None) -> ServedModel:
    """Return the model of this name. Without a name, return the first one.

    Raises:
        RefusedError: there is no such model (404).
        UsageError: there is none yet.
    """
    if not models:
        raise UsageError("there is no model yet")
    if name is None:
        return next(iter(models.values()))
    if name not in models:
        raise RefusedError(404, f"there is no model {brief_value(name)} here, only {', '.join(models)}")
    return models[name]
