"""What the stages share: from a language model and records to a model folder."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch

from glassformer.alignment.alignment_config import FineTuningConfig
from glassformer.alignment.pairs import Pair, Preference, hold_out_records
from glassformer.errors import UsageError
from glassformer.models.model_config import LanguageModelConfig
from glassformer.pages.html import written
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER, STATE_FILE
from glassformer.prediction.model_folder import Trained, TrainedLanguageModel, save_model
from glassformer.training.initial_weights import weights_fingerprint
from glassformer.training.loop import Model, Observer, Silent, Trainer
from glassformer.training.task import Task
from glassformer.training.unfinished import made_now, run_to_end, work_in

Made = TypeVar("Made", bound=Trained[Any, Any])
Given = TypeVar("Given", Pair, Preference)
Config = TypeVar("Config", bound=FineTuningConfig)


class HasLength(Protocol):
    """Anything with a length in tokens."""

    @property
    def length(self) -> int: ...


Tokens = TypeVar("Tokens", bound=HasLength)


@dataclass(frozen=True, kw_only=True)
class Start:
    """The language model that a run starts from, and the folder that it was read from."""

    trained: TrainedLanguageModel
    folder: Path

    @property
    def shape(self) -> LanguageModelConfig:
        """The model's config.

        Raises:
            UsageError: the model is not causal, or not of our own design.
        """
        shape = self.trained.config.model
        if not isinstance(shape, LanguageModelConfig) or not shape.causal:
            raise UsageError(
                f"{self.folder}: a causal model of our own design is needed here, but this model has the design "
                f"{shape.design!r} and {'predicts the next token' if shape.causal else 'fills in hidden tokens'}"
            )
        return shape

    @property
    def record(self) -> dict[str, str]:
        """What the new model folder records about it."""
        return {"from": str(self.folder), "fingerprint": weights_fingerprint(self.trained.model.state_dict())}


@dataclass(frozen=True, kw_only=True)
class Records:
    """The records of a run, in numbers.

    Attributes:
        source: the name that the user gave for them; empty if none was named and the only prompt is the empty text.
        too_long: the number of records that do not fit into the window and are left out.
    """

    source: str
    fingerprint: str
    train: int
    held_out: int
    too_long: int


@dataclass(frozen=True, kw_only=True)
class Card:
    """The model card, the Markdown text of the model folder's README.md.

    Attributes:
        figures: writes the figures of the best epoch on held-out records in words.
    """

    title: str
    does: str
    figures: Callable[[Mapping[str, Any]], str]
    record: str = "record"

    def write(self, trained: Trained[Any, Any]) -> str:
        return written("alignment/card", card=self, trained=trained)


@dataclass(frozen=True, kw_only=True)
class Run(Generic[Config]):
    """One run of a stage: its model, settings and output folder.

    Attributes:
        resume: continue the unfinished run in `out`. Records and settings must be the same as before.
        on_prepared: called before training begins, with the records and the number of parameters.
    """

    start: Start
    config: Config
    out: Path
    resume: bool = False
    overwrite: bool = False
    device: str = "cpu"
    observer: Observer | None = None
    on_prepared: Callable[[Records, int], None] | None = None

    def divide(
        self, records: Sequence[Given], read: Callable[[Sequence[Given]], list[Tokens]], *, source: str
    ) -> tuple[list[Tokens], list[Tokens], Records]:
        """Divide records into training and held-out ones, encode them, and drop those longer than the window.

        Returns:
            The training records, the held-out records, and their counts.
        """
        train, held_out = (
            [tokens for tokens in read(side) if tokens.length <= self.start.shape.max_seq_len]
            for side in hold_out_records(records, self.config.held_out, seed=self.config.seed)
        )
        counts = Records(
            source=source,
            fingerprint=records_fingerprint(records),
            train=len(train),
            held_out=len(held_out),
            too_long=len(records) - len(train) - len(held_out),
        )
        return train, held_out, counts

    def learn(
        self,
        model: Model,
        task: Task,
        records: Records,
        made: Callable[[Model, dict[str, Any], dict[str, Any]], Made],
        card: Card,
    ) -> Made:
        """Train to the end, and write the model folder.

        Args:
            made: takes the trained model, the fields of `config.json` that are the same for every kind of model, and
                the content of `metrics.json`, and returns what is saved.

        Raises:
            UsageError: no record fits into the window, or `out` is in use.
            InterruptedTraining: on Ctrl-C. The run in `out` can be resumed.
            NotANumberError: training diverged. The best weights so far, if any, are in `out`.
        """
        if not records.train:
            raise UsageError(
                f"{records.source}: no record fits into the model's window of {self.start.shape.max_seq_len:,} tokens; "
                "shorten them, or pretrain a model with a larger one (`model.max_seq_len=`)"
            )
        check_is_no_input(self.out, self.start.folder)
        identity = {"records": records.fingerprint, "from": self.start.record, "training": self.config}
        with work_in(self.out, identity, resume=self.resume, overwrite=self.overwrite):
            torch.manual_seed(self.config.seed)
            checkpoint, observer = self.out / CHECKPOINT_FOLDER / STATE_FILE, self.observer or Silent()
            trainer = Trainer(model.to(self.device), task, self.config, checkpoint=checkpoint, observer=observer)
            if self.on_prepared:
                trained = [parameter.numel() for parameter in model.parameters() if parameter.requires_grad]
                self.on_prepared(records, sum(trained))

            def save() -> Made:
                recipe = {"training": self.config.model_dump(mode="json")}
                fields = described(self.start, records, recipe, seconds=trainer.state.seconds)
                found = made(model.cpu().eval(), fields, trainer.state.metrics())
                save_model(self.out, found, card=card.write(found))
                return found

            return run_to_end(trainer, self.out, resume=self.resume, save=save)


def described(start: Start, records: Records, recipe: dict[str, Any], *, seconds: float) -> dict[str, Any]:
    """Return the fields of `config.json` that are the same for every kind of model."""
    return {
        "vocab_size": start.trained.tokenizer.vocab_size,
        "tokenizer": start.trained.config.tokenizer,
        "data": asdict(records),
        "init": start.record,
        "recipe": recipe,
        "new_words": start.trained.config.new_words,
        **made_now(seconds),
    }


def check_is_no_input(out: Path, *inputs: Path) -> None:
    """Raise `UsageError` if a run would replace a folder that it reads."""
    for folder in inputs:
        if out.exists() and folder.exists() and out.samefile(folder):
            raise UsageError(
                f"`out={str(out)!r}`: this run reads {folder}; name another folder, so that it is not lost"
            )


def records_fingerprint(records: Sequence[Pair | Preference | str]) -> str:
    """Return the SHA-256 (hex) of records or prompts. It depends on their order."""
    plain = [record if isinstance(record, str) else asdict(record) for record in records]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()
