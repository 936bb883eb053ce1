"""What fine-tuning and training a reward model have in common: a language model and records in, a model folder out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from glassformer.alignment.alignment_config import FineTuningConfig
from glassformer.alignment.pairs import Pair, Preference, hold_out_records
from glassformer.data.table import counted
from glassformer.errors import UsageError
from glassformer.models.model_config import LanguageModelConfig
from glassformer.prediction.model_folder import CHECKPOINT_FOLDER, STATE_FILE, TrainedLanguageModel
from glassformer.training.initial_weights import weights_fingerprint
from glassformer.training.loop import Model, Observer, Silent, Task, Trainer
from glassformer.training.memory import keep_large_buffers
from glassformer.training.unfinished import run_to_end, versions, work_in

Made = TypeVar("Made")
Given = TypeVar("Given", Pair, Preference)


class HasLength(Protocol):
    """Anything that is so many tokens long."""

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
        """Of a causal model of ours.

        Raises:
            UsageError: it is another one.
        """
        shape = self.trained.config.model
        if not isinstance(shape, LanguageModelConfig) or not shape.causal:
            raise UsageError(
                f"{self.folder}: a causal model of our own design is needed here, and this is one of design "
                f"{shape.design!r} that {'says the next token' if shape.causal else 'fills in hidden tokens'}"
            )
        return shape

    @property
    def record(self) -> dict[str, str]:
        """What the new folder keeps of it."""
        return {"from": str(self.folder), "fingerprint": weights_fingerprint(self.trained.model.state_dict())}


@dataclass(frozen=True, kw_only=True)
class Records:
    """What is learned from.

    Attributes:
        source: what the user called it; empty where none was named, and the one prompt is the empty text.
        train: how many records there are to learn from.
        held_out: how many are only measured.
        too_long: how many do not fit into the window, and are left out.
    """

    source: str
    fingerprint: str
    train: int
    held_out: int
    too_long: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """Where to, and how.

    Attributes:
        resume: continue the unfinished run in `out`; records and settings must be what they were.
        on_prepared: hears of records and the number of parameters before training begins.
    """

    start: Start
    config: FineTuningConfig
    out: Path
    resume: bool = False
    overwrite: bool = False
    device: str = "cpu"
    observer: Observer | None = None
    on_prepared: Callable[[Records, int], None] | None = None

    def divide(
        self, records: Sequence[Given], read: Callable[[Sequence[Given]], list[Tokens]], *, source: str
    ) -> tuple[list[Tokens], list[Tokens], Records]:
        """Those to learn from, those held out, both as tokens that fit into the window, and what to say of them."""
        train, held_out = (
            [one for one in read(side) if one.length <= self.start.shape.max_seq_len]
            for side in hold_out_records(records, self.config.held_out, seed=self.config.seed)
        )
        counts = Records(
            source=source,
            fingerprint=fingerprint(records),
            train=len(train),
            held_out=len(held_out),
            too_long=len(records) - len(train) - len(held_out),
        )
        return train, held_out, counts

    def learn(self, model: Model, task: Task, records: Records, save: Callable[[Model, Facts], Made]) -> Made:
        """Train to the end, then `save`.

        Raises:
            UsageError: no record fits into the window, or `out` is taken.
            InterruptedTraining: on Ctrl-C; `out` can be resumed.
            NotANumberError: training diverged; the best weights so far, if any, are in `out`.
        """
        if not records.train:
            raise UsageError(
                f"{records.source}: no record fits into the model's window of {self.start.shape.max_seq_len} tokens; "
                "shorten them, or pretrain a model with a larger one (--set model.max_seq_len=…)"
            )
        keep_large_buffers()
        identity = {"records": records.fingerprint, "from": self.start.record, "training": self.config.model_dump()}
        with work_in(self.out, identity, resume=self.resume, overwrite=self.overwrite):
            torch.manual_seed(self.config.seed)
            checkpoint, observer = self.out / CHECKPOINT_FOLDER / STATE_FILE, self.observer or Silent()
            trainer = Trainer(model.to(self.device), task, self.config, checkpoint=checkpoint, observer=observer)
            if self.on_prepared:
                self.on_prepared(records, sum(parameter.numel() for parameter in model.parameters()))
            return run_to_end(
                trainer,
                self.out,
                resume=self.resume,
                save=lambda: save(model.cpu().eval(), self._facts(trainer, records)),
            )

    def _facts(self, trainer: Trainer[Any], records: Records) -> Facts:
        state = trainer.state
        return describe(
            self.start,
            records,
            recipe={"training": self.config.model_dump(mode="json")},
            seconds=state.seconds,
            metrics=state.metrics(),
        )


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Of a finished run: the fields of the new folder's config that do not depend on its kind, and `metrics.json`."""

    config: dict[str, Any]
    metrics: dict[str, Any]


def describe(
    start: Start, records: Records, *, recipe: dict[str, Any], seconds: float, metrics: dict[str, Any]
) -> Facts:
    """What a finished run says of itself."""
    return Facts(
        config={
            "vocab_size": start.trained.tokenizer.vocab_size,
            "tokenizer": start.trained.config.tokenizer,
            "data": asdict(records),
            "init": start.record,
            "recipe": recipe,
            "versions": versions(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "training_seconds": round(seconds, 2),
            "new_words": start.trained.config.new_words,
        },
        metrics=metrics,
    )


def fingerprint(records: Sequence[Pair | Preference | str]) -> str:
    """SHA-256 (hex) of records, or prompts, in their order."""
    plain = [one if isinstance(one, str) else asdict(one) for one in records]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()


def card(title: str, does: str, facts: Facts, figures: str, *, record: str = "record") -> str:
    """Markdown for the model folder's README.md; a `record` is what it learned from."""
    config, data = facts.config, facts.config["data"]
    from_what = f"{counted(data['train'], record)} of `{data['source']}`" if data["source"] else "the empty prompt"
    lines = [
        f"Learned from {from_what}, starting from `{config['init']['from']}`.",
        f"On {counted(data['held_out'], f'held-out {record}')}: {figures}."
        if data["held_out"]
        else f"No {record}s were held out, so nothing is known about new ones.",
        f"Made with glassformer {config['versions']['glassformer']}, torch {config['versions']['torch']}, "
        f"on {config['created']}.",
        f"Fingerprint of the {record}s: `{data['fingerprint']}`.",
    ]
    return f"# {title}\n\n{does}\n\n" + "".join(f"- {line}\n" for line in lines)
