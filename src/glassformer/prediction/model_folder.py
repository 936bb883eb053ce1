"""The model folder of a classifier: what training leaves and everything else reads (see `folder`)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import PositiveFloat
from torch import nn

from glassformer.data.labels import LabelSet, label_name
from glassformer.data.tokenizers import TextTokenizer
from glassformer.models.build import AnyModelConfig, build_model
from glassformer.prediction.folder import AnyFolderConfig, FolderContents, is_model_folder, read_folder, write_folder

EVALUATION_FOLDER = "evaluation"
REPORT_FILE, FIGURES_FILE = "report.html", "metrics.json"


class FolderConfig(AnyFolderConfig):
    """`config.json` of a classifier."""

    kind: ClassVar[str] = "glassformer-classifier"

    format: str = kind
    model: AnyModelConfig
    labels: tuple[str | int | float | bool, ...]
    multilabel: bool
    temperature: PositiveFloat


@dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """A classifier with everything that it needs to answer."""

    config: FolderConfig
    model: nn.Module
    tokenizer: TextTokenizer
    metrics: dict[str, Any]

    @property
    def n_classes(self) -> int:
        return len(self.config.labels)

    @property
    def label_set(self) -> LabelSet:
        return LabelSet(names=tuple(map(label_name, self.config.labels)), multilabel=self.config.multilabel)


def save_model_folder(folder: Path, trained: TrainedModel, *, card: str) -> None:
    """Write a model folder (see `write_folder`). The evaluation of a model that is replaced goes with it."""
    replaced = is_model_folder(folder)
    write_folder(folder, trained.config, FolderContents(trained.model, trained.tokenizer, trained.metrics), card=card)
    if replaced:
        for name in (REPORT_FILE, FIGURES_FILE):
            (folder / EVALUATION_FOLDER / name).unlink(missing_ok=True)
        with suppress(OSError):  # others' files are in it, or it is not there
            (folder / EVALUATION_FOLDER).rmdir()


def load_model_folder(folder: Path) -> TrainedModel:
    """Read a model folder and rebuild its classifier, in evaluation mode, on the CPU.

    Raises:
        UsageError: there is no such folder, or it is not the model folder of a classifier.
        GlassformerError: a file is missing, cut short, of a later format, or does not fit the others.
    """
    config, contents = read_folder(
        folder, FolderConfig, lambda config: build_model(config.model, config.vocab_size, len(config.labels))
    )
    return TrainedModel(config=config, **contents._asdict())
