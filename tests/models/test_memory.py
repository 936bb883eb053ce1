import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from packaging.version import Version
from torch import nn

from glassformer.errors import UsageError, is_out_of_memory
from glassformer.models import memory
from glassformer.models.build import build_language_model, build_model
from glassformer.models.classifier import Classifier
from glassformer.models.memory import check_fits, keep_large_buffers, machine_memory, shapes_only
from glassformer.models.model_config import PRESETS, LanguageModelConfig, ModelConfig
from glassformer.models.published.bui_dang import BuiDangRowsConfig


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (MemoryError(), True),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
            True,
        ),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."), True),
        (RuntimeError("could not create a primitive"), True),
        (RuntimeError("could not create a memory object"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (RuntimeError("could not create a primitive descriptor for a matmul primitive"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
        (ImportError("a.so: failed to map segment from shared object"), True),
        (pl.exceptions.ComputeError("Cannot allocate memory (os error 12)"), True),
        (pl.exceptions.PanicException("failed to allocate 8 bytes"), True),
        (pl.exceptions.ComputeError("a.csv: row 3 has 4 fields"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_tells_memory_from_mistakes(error: BaseException, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


def test_what_torch_says_when_it_cannot_allocate() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


def classifier(config: Any, vocab_size: int) -> nn.Module:
    return build_model(config, vocab_size, 2)


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100 MB."""
    monkeypatch.setattr(memory, "machine_memory", lambda _: 100_000_000)


@pytest.mark.parametrize(
    ("values", "vocab_size", "words"),
    [
        ({"d_model": 65_536}, 500, "model.d_model, which is 65,536"),
        ({"n_layers": 100}, 500, "model.n_layers, which is 100"),
        ({"d_ff": 131_072}, 500, "model.d_ff, which is 131,072"),
        ({"max_seq_len": 2**20, "positions": "learned"}, 500, "model.max_seq_len, which is 1,048,576"),
        ({}, 4_000_000, "tokenizer.vocab_size, which is 4,000,000"),
    ],
)
@pytest.mark.usefixtures("small_machine")
def test_a_model_too_large_names_the_setting(values: dict[str, Any], vocab_size: int, words: str) -> None:
    with pytest.raises(UsageError, match=rf"this model needs [\d,.]+ GB .* this machine has 0\.1 GB; lower {words}"):
        check_fits(classifier, ModelConfig(**values), vocab_size, optimizer="adamw", device="cpu")


@pytest.mark.usefixtures("small_machine")
def test_tables_that_are_not_learned_count_too() -> None:
    config = BuiDangRowsConfig(max_seq_len=20_000)  # its mask has 20,000² places
    with pytest.raises(UsageError, match=r"needs 1\.6 GB .* lower model\.max_seq_len"):
        check_fits(classifier, config, 500, optimizer="sgd", device="cpu")


@pytest.mark.parametrize(("optimizer", "tensors"), [("adamw", 5), ("sgd", 3)])
def test_the_estimate_is_of_float32_weights_gradients_best_and_moments(
    optimizer: str, tensors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = LanguageModelConfig(d_model=64, n_layers=1, positions="none")
    model = build_language_model(config, 1_000)
    needed = 4 * tensors * sum(parameter.numel() for parameter in model.parameters())
    for there in (needed, needed - 1):
        monkeypatch.setattr(memory, "machine_memory", lambda _, there=there: there)
        if there == needed:
            check_fits(build_language_model, config, 1_000, optimizer=optimizer, device="cpu")
        else:
            with pytest.raises(UsageError, match="needs"):
                check_fits(build_language_model, config, 1_000, optimizer=optimizer, device="cpu")


def test_where_the_memory_is_not_known_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda _: None)
    check_fits(classifier, ModelConfig(d_model=65_536), 500, optimizer="adamw", device="cpu")


def test_a_container_has_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_CONTAINER_LIMIT", limit)
    physical = machine_memory("cpu")
    assert physical is not None
    assert physical > 2**28
    limit.write_text("1000000\n")
    assert machine_memory("cpu") == 1_000_000
    limit.write_text("max\n")
    assert machine_memory("cpu") == physical


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("ctypes.CDLL", lambda _: pytest.fail("the C library was asked"))
    keep_large_buffers()


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


@pytest.mark.skipif(Version(torch.__version__) < Version("2.10"), reason="torch 2.9 itself imports SymPy")
def test_a_model_answers_without_what_takes_long_to_import() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    assert done.stdout == "['positive'] []\n"
