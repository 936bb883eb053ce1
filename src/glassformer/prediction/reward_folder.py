"""The model folder of a reward model (see `folder`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from glassformer.data.tokenizers import TextTokenizer
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.reward import RewardModel
from glassformer.prediction.folder import AnyFolderConfig, FolderContents, read_folder, write_folder


class RewardFolderConfig(AnyFolderConfig):
    """`config.json` of a reward model."""

    kind: ClassVar[str] = "glassformer-reward-model"

    format: str = kind
    model: LanguageModelConfig


@dataclass(frozen=True, kw_only=True)
class TrainedRewardModel:
    """A reward model with everything that it needs to judge a text."""

    config: RewardFolderConfig
    model: nn.Module
    tokenizer: TextTokenizer
    metrics: dict[str, Any]


def save_reward_model(folder: Path, trained: TrainedRewardModel, *, card: str) -> None:
    """Write a model folder (see `write_folder`)."""
    write_folder(folder, trained.config, FolderContents(trained.model, trained.tokenizer, trained.metrics), card=card)


def load_reward_model(folder: Path) -> TrainedRewardModel:
    """Read a model folder and rebuild its reward model, in evaluation mode, on the CPU.

    Raises:
        UsageError: there is no such folder, or it is not the model folder of a reward model.
        GlassformerError: a file is missing, cut short, of a later format, or does not fit the others.
    """
    config, contents = read_folder(
        folder, RewardFolderConfig, lambda config: RewardModel(config.model, config.vocab_size)
    )
    return TrainedRewardModel(config=config, **contents._asdict())
