"""From a config to its model: our classifier, pre-trained encoders, published designs, and language models."""

from functools import cache
from typing import Annotated

from pydantic import BeforeValidator, Discriminator
from torch import nn

from glassformer.models.classifier import Classifier
from glassformer.models.language_model import LanguageModel, TokenPredictor
from glassformer.models.memory import shapes_only
from glassformer.models.model_config import DesignConfig, LanguageModelConfig, ModelConfig, SeveralTextsConfig
from glassformer.models.pretrained import PretrainedConfig, PretrainedEncoder
from glassformer.models.published.bui_dang import BuiDangColumns, BuiDangColumnsConfig, BuiDangRows, BuiDangRowsConfig
from glassformer.models.published.notes_decoder import (
    NotesDecoder,
    NotesDecoderConfig,
    NotesLanguageModel,
    NotesLanguageModelConfig,
)
from glassformer.models.published.sentiment140 import Sentiment140, Sentiment140Config
from glassformer.models.published.vinh import (
    VinhAttention,
    VinhAttentionConfig,
    VinhMLP,
    VinhMLPConfig,
    VinhTransformer,
    VinhTransformerConfig,
)
from glassformer.models.published.vinh_recurrent import VinhRecurrent, VinhRecurrentConfig


def _unnamed_is(design: str) -> BeforeValidator:
    """Return what makes a config without a `design` one of our own models."""
    return BeforeValidator(lambda config: {"design": design} | config if isinstance(config, dict) else config)


AnyModelConfig = Annotated[
    ModelConfig
    | SeveralTextsConfig
    | BuiDangRowsConfig
    | BuiDangColumnsConfig
    | VinhMLPConfig
    | VinhAttentionConfig
    | VinhRecurrentConfig
    | VinhTransformerConfig
    | Sentiment140Config
    | NotesDecoderConfig
    | PretrainedConfig,
    Discriminator("design"),
    _unnamed_is("classifier"),
]
"""The config of any classifier. Its field `design` says of which."""

AnyLanguageModelConfig = Annotated[
    LanguageModelConfig | NotesLanguageModelConfig, Discriminator("design"), _unnamed_is("language-model")
]

# Each is built as Module(config, vocab_size, n_classes) and called as model(token_ids, attention_mask).
_MODULES: dict[type[DesignConfig], type[nn.Module]] = {
    ModelConfig: Classifier,
    SeveralTextsConfig: Classifier,
    BuiDangRowsConfig: BuiDangRows,
    BuiDangColumnsConfig: BuiDangColumns,
    VinhMLPConfig: VinhMLP,
    VinhAttentionConfig: VinhAttention,
    VinhRecurrentConfig: VinhRecurrent,
    VinhTransformerConfig: VinhTransformer,
    Sentiment140Config: Sentiment140,
    NotesDecoderConfig: NotesDecoder,
    PretrainedConfig: PretrainedEncoder,
}
DESIGNS: dict[str, type[DesignConfig]] = {
    config.model_fields["design"].default: config for config in _MODULES if config is not SeveralTextsConfig
}
"""Name → config class of every design that a recipe may name. The name is the config's field `design`."""


def build_model(config: AnyModelConfig, vocab_size: int, n_classes: int) -> nn.Module:
    """Build a new model. It takes token ids and an attention mask (batch, seq) and returns logits (batch, n_classes).

    Raises:
        ValueError: the size of the vocabulary or the number of classes does not fit the config.
    """
    return _MODULES[type(config)](config, vocab_size, n_classes)


@cache  # a run asks several times
def parameter_count(config: AnyModelConfig, vocab_size: int, n_classes: int) -> int:
    """Count the parameters of `build_model(config, …)` without allocating them."""
    with shapes_only():
        model = build_model(config, vocab_size, n_classes)
    return sum(parameter.numel() for parameter in model.parameters())


LANGUAGE_DESIGNS: dict[str, type[DesignConfig]] = {
    config.model_fields["design"].default: config for config in (LanguageModelConfig, NotesLanguageModelConfig)
}


def build_language_model(config: AnyLanguageModelConfig, vocab_size: int, *, n_learned: int = 0) -> TokenPredictor:
    """Build a new language model.

    Args:
        n_learned: how many tokens were added to the end of the vocabulary after training (our own design only).
    """
    if isinstance(config, NotesLanguageModelConfig):
        return NotesLanguageModel(config, vocab_size)
    return LanguageModel(config, vocab_size, n_learned=n_learned)
