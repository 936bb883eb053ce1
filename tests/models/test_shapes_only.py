"""Models without values have the shapes of those with values, and are built without torch's compiler."""

import subprocess
import sys

import pytest
import torch

from glassformer.models.classifier import Classifier
from glassformer.models.memory import shapes_only
from glassformer.models.model_config import PRESETS, ModelConfig

CONFIGS = [
    *PRESETS.values(),
    ModelConfig(d_model=8, n_heads=2, d_ff=6, max_seq_len=9, positions="sinusoidal", norm="layer", pooling="attention"),
    ModelConfig(d_model=8, n_heads=2, d_ff=6, max_seq_len=9, positions="learned", norm="batch", pooling="flatten"),
    ModelConfig(d_model=24, n_heads=2, d_ff=6, max_seq_len=9, embedding="one-hot", positions="rotary-on-embeddings"),
]
LOAD = """
import sys
from glassformer.prediction.load_answering import load_answering
from glassformer.prediction.shipped import folder_of
print(load_answering(folder_of("sentiment-en"), device="cpu").answer(["i loved it"]).predictions(), [
    name for name in ("torch._dynamo", "sympy", "scipy", "sklearn") if name in sys.modules
])
"""


@pytest.mark.parametrize("config", CONFIGS)
def test_shapes_are_those_of_a_model_with_values(config: ModelConfig) -> None:
    with shapes_only():
        empty = Classifier(config, vocab_size=11, n_classes=3)
    full = Classifier(config, vocab_size=11, n_classes=3)
    for of_empty, of_full in ((empty.state_dict(), full.state_dict()), _buffers(empty, full)):
        assert of_empty.keys() == of_full.keys()
        for name, tensor in of_empty.items():
            assert tensor.is_meta
            assert (tensor.shape, tensor.dtype) == (of_full[name].shape, of_full[name].dtype), name


def _buffers(*models: Classifier) -> list[dict[str, torch.Tensor]]:
    return [dict(model.named_buffers()) for model in models]


def test_a_model_answers_without_what_takes_long_to_import() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    assert done.stdout == "['positive'] []\n"
