"""`train --init hf:…` reads manipulated checkpoints of other libraries."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from glassformer.models.checkpoints import Checkpoint
from tests.attacks.answer import answered, nothing_lost
from tests.checkpoints import write_checkpoint
from tests.cli.terminal import glassformer
from tests.trained import Trained

Tamper = Callable[[Path], Any]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    for family in ("bert", "modernbert"):
        write_checkpoint(folder / family, family)
    return folder


def config(**values: Any) -> Tamper:
    def tamper(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))

    return tamper


def weights(change: Callable[[torch.Tensor], torch.Tensor]) -> Tamper:
    def tamper(folder: Path) -> None:
        file = folder / "model.safetensors"
        save_file({name: change(tensor) for name, tensor in load_file(file).items()}, file)

    return tamper


def pipe(name: str) -> Tamper:
    def tamper(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return tamper


def slow_cutter(folder: Path) -> None:
    file = folder / "tokenizer.json"
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"pre_tokenizer": split}))


ATTACKS: dict[str, tuple[str, Tamper, tuple[str, ...], int]] = {
    "blocks-1e9": ("bert", config(num_hidden_layers=10**9), ("1000000000",), 2),
    "local-blocks-1e9": ("modernbert", config(num_hidden_layers=10**9, layer_types=None), ("1000000000",), 2),
    "blocks-more-than-tensors": ("bert", config(num_hidden_layers=900), ("900", "different models"), 1),
    "blocks-a-text": ("bert", config(num_hidden_layers="many"), ("many",), 2),
    "width-one-more-head": ("bert", config(hidden_size=1200), ("config.json", "different models"), 1),
    "window-1e12": ("modernbert", config(max_position_embeddings=10**12), ("max_seq_len",), 2),
    "no-number": ("bert", config(hidden_dropout_prob=float("nan")), ("config.json", "NaN"), 1),
    "nested": ("bert", lambda folder: (folder / "config.json").write_text("[" * 200_000), ("nested",), 1),
    "config-a-pipe": ("bert", pipe("config.json"), ("config.json",), 2),
    "weights-a-pipe": ("bert", pipe("model.safetensors"), ("model.safetensors",), 2),
    "nan-weights": ("bert", weights(lambda tensor: tensor * torch.nan), ("NaN", "damaged"), 1),
    "int8-weights": ("bert", weights(lambda tensor: tensor.to(torch.int8)), ("quantised",), 2),
    "slow-regex": ("bert", slow_cutter, ("(a+)+$",), 2),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_tampered_checkpoint_is_refused(name: str, checkpoints: Path, reviews: Trained, tmp_path: Path) -> None:
    family, tamper, words, code = ATTACKS[name]
    folder = shutil.copytree(checkpoints / family, tmp_path / "checkpoint")
    tamper(folder)
    with nothing_lost(reviews.folder):
        outcome = glassformer("train", reviews.table, "--init", f"hf:{folder}", "--out", tmp_path / "out")
    answered(outcome, *words, code=code)
    assert not (tmp_path / "out").exists()


@pytest.mark.mended
def test_architectures_that_are_no_list_are_none() -> None:
    assert not Checkpoint({"architectures": 5}, "there").classifies
