"""The forward pass in NumPy gives the logits of the model in PyTorch, for all designs that it knows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from glassformer.data.arrays import BoolArray, IntArray
from glassformer.models.build import build_model
from glassformer.models.model_config import ModelConfig, SeveralTextsConfig
from glassformer.prediction.in_numpy import NotInNumpyError, NumpyClassifier
from glassformer.prediction.scoring import array_logits_of

VOCAB, CLASSES = 40, 3
SIZES: dict[str, Any] = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_layers": 2, "max_seq_len": 20}
VARIANTS = {
    "positions": ("none", "sinusoidal", "learned", "rotary", "rotary-on-embeddings"),
    "attention": ("full", "causal"),
    "norm": ("layer", "rms"),
    "residual": ("pre-norm", "post-norm"),
    "feed_forward": ("linear", "relu", "gelu", "glu", "swiglu", "geglu"),
    "pooling": ("first", "last", "mean", "max", "attention", "flatten"),
}


def filled(config: Any) -> nn.Module:
    """A model whose weights are all large enough to be missed."""
    model = build_model(config, VOCAB, CLASSES).eval()
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        scale = 0.3 if parameter.ndim == 1 else parameter.shape[-1] ** -0.5
        parameter.data = scale * torch.randn(parameter.shape, generator=generator) + name.endswith("norm.weight")
    return model


def saved(model: nn.Module, folder: Path, dtype: torch.dtype = torch.float32) -> Path:
    path = folder / "model.safetensors"
    save_file({name: tensor.to(dtype) for name, tensor in model.state_dict().items()}, path)
    return path


def windows() -> tuple[IntArray, BoolArray]:
    """Windows of 1 to 17 tokens. Separators stand in some, as in rows of several texts."""
    random = np.random.default_rng(0)
    mask = np.arange(17) < np.array([1, 2, 5, 9, 16, 17])[:, None]
    token_ids = np.where(mask, random.integers(1, VOCAB, mask.shape), 0)
    token_ids[3, 4] = token_ids[5, 8] = VOCAB - 1
    token_ids[5, 10] = token_ids[5, 2]  # the same word in two texts
    return token_ids, mask


@pytest.mark.parametrize(("setting", "value"), [(name, value) for name, each in VARIANTS.items() for value in each])
@pytest.mark.parametrize("texts", [1, 2])
def test_the_logits_are_those_of_pytorch(setting: str, value: str, texts: int, tmp_path: Path) -> None:
    settings = SIZES | {setting: value}
    config = ModelConfig(**settings) if texts == 1 else SeveralTextsConfig(**settings, texts=texts)
    model = filled(config)
    ours = NumpyClassifier.load(saved(model, tmp_path), config.model_dump(), VOCAB, CLASSES)(*windows())
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, array_logits_of(model)(*windows()), atol=2e-5, rtol=1e-5)


def test_weights_may_be_stored_in_fewer_bits(tmp_path: Path) -> None:
    model = filled(ModelConfig(**SIZES))
    path = saved(model, tmp_path, torch.float16)
    model.load_state_dict(load_file(path))
    ours = NumpyClassifier.load(path, SIZES, VOCAB, CLASSES)(*windows())
    np.testing.assert_allclose(ours, array_logits_of(model)(*windows()), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "change", [{"norm": "batch"}, {"head": "ordered"}, {"design": "vinh-mlp"}, {"d_ff": 25}, {"max_seq_len": 2048}]
)
def test_what_is_not_written_in_numpy_is_left_to_pytorch(change: dict[str, Any], tmp_path: Path) -> None:
    path = saved(filled(ModelConfig(**SIZES)), tmp_path)
    with pytest.raises(NotInNumpyError):
        NumpyClassifier.load(path, SIZES | change, VOCAB, CLASSES)


@pytest.mark.parametrize("damage", ["cut short", "not finite", "another type"])
def test_damaged_weights_are_left_to_pytorch(damage: str, tmp_path: Path) -> None:
    model = filled(ModelConfig(**SIZES))
    if damage == "not finite":
        next(model.parameters()).data[0, 0] = torch.nan
    path = saved(model, tmp_path, torch.bfloat16 if damage == "another type" else torch.float32)
    if damage == "cut short":
        path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(NotInNumpyError):
        NumpyClassifier.load(path, SIZES, VOCAB, CLASSES)
