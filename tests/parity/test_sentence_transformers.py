"""Our encoders against the library sentence-transformers: the same folder, the same vectors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.readers.encoder.training import read_encoder
from tests.checkpoints import CORPUS, describe_encoder, write_checkpoint

TEXTS = [*CORPUS, "", "Ça va? naïve CAFÉ, großartig…", "👍🏽 so good !!!", "a\tb  c"]
DENSE = {"in_features": 48, "out_features": 7, "activation_function": "torch.nn.modules.activation.Tanh"}
Parts = list[tuple[str, dict[str, Any]]]
NORMALISED: tuple[str, dict[str, Any]] = ("Normalize", {})


def theirs_of(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer  # a second, for the one process that tries these

    return SentenceTransformer(str(folder), device="cpu")


def old(*modes: str) -> tuple[str, dict[str, Any]]:
    return "Pooling", {"word_embedding_dimension": 24} | {f"pooling_mode_{mode}": True for mode in modes}


def new(mode: str) -> tuple[str, dict[str, Any]]:
    return "Pooling", {"embedding_dimension": 24, "pooling_mode": mode}


ENCODERS: list[tuple[str, Parts, dict[str, Any]]] = [
    ("bert", [old("mean_tokens"), NORMALISED], {"window": 30}),
    ("bert", [old("cls_token", "mean_tokens"), ("Dense", DENSE), NORMALISED], {}),
    ("bert", [new("mean_sqrt_len_tokens")], {"prompt": "query: "}),
    ("distilbert", [old("max_tokens")], {"lowercase": True}),
    ("roberta", [new("cls"), NORMALISED], {}),
    ("xlm-roberta", [new("cls"), NORMALISED], {}),
    ("modernbert", [new("mean")], {}),
    ("modernbert", [new("lasttoken"), NORMALISED], {}),
]


def halved_checkpoint(folder: Path, family: str) -> None:
    """Write weights that are numbers of 16 bits, as ours are, and so are their sums.

    With more blocks, random weights forget the text.
    """
    depth: dict[str, Any] = {"n_layers" if family == "distilbert" else "num_hidden_layers": 1}
    model = write_checkpoint(folder, family, "Model", **depth)
    for name, parameter in model.named_parameters():
        parameter.data = parameter.data.half().float() * ("token_type" not in name)
    model.save_pretrained(folder)


@pytest.mark.parametrize(("family", "parts", "settings"), ENCODERS, ids=str)
def test_vectors(family: str, parts: Parts, settings: dict[str, Any], tmp_path: Path) -> None:
    halved_checkpoint(tmp_path, family)
    describe_encoder(tmp_path, *parts, **settings)
    if any(kind == "Dense" for kind, _ in parts):
        write_dense(tmp_path / "2_Dense")
    theirs = theirs_of(tmp_path)
    expected = theirs.encode(TEXTS)
    found = read_encoder(f"hf:{tmp_path}").vectors(TEXTS)
    assert found.shape == expected.shape
    assert expected.std(axis=0).mean() > 3e-3, "the texts have different vectors"
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def write_dense(folder: Path) -> None:
    from safetensors.torch import save_file

    drawn = torch.Generator().manual_seed(0)
    weights = {"linear.weight": torch.randn(7, 48, generator=drawn), "linear.bias": torch.randn(7, generator=drawn)}
    save_file({name: tensor.half().float() for name, tensor in weights.items()}, folder / "model.safetensors")
    assert json.loads((folder / "config.json").read_text()) == DENSE


def test_a_folder_without_a_description_is_averaged(tmp_path: Path) -> None:
    halved_checkpoint(tmp_path, "bert")
    expected = theirs_of(tmp_path).encode(TEXTS)
    np.testing.assert_allclose(read_encoder(f"hf:{tmp_path}").vectors(TEXTS), expected, rtol=1e-4, atol=1e-5)


def test_the_rest_of_a_long_text_is_read_too(tmp_path: Path) -> None:
    """They cut it off. A text that fits is the same."""
    halved_checkpoint(tmp_path, "bert")
    describe_encoder(tmp_path, new("mean"), window=12)
    ours = read_encoder(f"hf:{tmp_path}")
    start = "the plot is thin but i loved it"
    long, other = ours.vectors([f"{start} {' dull' * 40}", f"{start} {' loved' * 40}"])
    assert np.abs(long - other).max() > 1e-2
