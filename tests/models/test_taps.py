import re
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from glassformer.layers.taps import Tap
from glassformer.models.classifier import Classifier
from glassformer.models.language_model import LanguageModel
from glassformer.models.listening import listeners, listening, taps_of
from glassformer.models.model_config import LanguageModelConfig, ModelConfig
from glassformer.models.pretrained import PretrainedConfig, PretrainedEncoder
from tests.support import randomise, right_padded

SIZES = {"batch": 3, "seq": 7, "d_model": 12, "n_heads": 2, "head_dim": 6, "d_ff": 5, "n_classes": 4}
VOCAB_SIZE = 11
SHAPE: dict[str, Any] = {
    "d_model": 12, "n_layers": 2, "n_heads": 2, "d_ff": 5, "max_seq_len": 9, "dropout": 0.0,
}  # fmt: skip
PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "inside.md").read_text(encoding="utf-8")
DOCUMENTED = {
    name: tuple(SIZES[axis] for axis in shape.split(", "))
    for name, shape in re.findall(r"^\| `([a-zN._]+\w)` \| ([a-z_, ]+) \|", PAGE, re.MULTILINE)
}


def classifier(**settings: Any) -> Classifier:
    return Classifier(ModelConfig.model_validate(SHAPE | settings), VOCAB_SIZE, SIZES["n_classes"])


def encoder(**settings: Any) -> PretrainedEncoder:
    config = PretrainedConfig.model_validate(SHAPE | {"attention_dropout": 0.0} | settings)
    return PretrainedEncoder(config, VOCAB_SIZE, SIZES["n_classes"])


MODELS: dict[str, nn.Module] = {
    "classifier": classifier(),
    "post-norm, attention pooling": classifier(residual="post-norm", norm="layer", pooling="attention"),
    "batch norm, plain": classifier(norm="batch", feed_forward="relu", positions="learned"),
    "linear, without norms": classifier(norm="none", feed_forward="linear", attention="causal"),
    "bert": encoder(),
    "modernbert": encoder(residual="pre-norm", feed_forward="gated", positions="rotary", head_norm="layer"),
}
models = pytest.mark.parametrize("model", [randomise(m).eval() for m in MODELS.values()], ids=list(MODELS))


def inputs() -> tuple[Tensor, Tensor]:
    return torch.randint(VOCAB_SIZE, (SIZES["batch"], SIZES["seq"])), right_padded([7, 4, 1])


def numberless(name: str) -> str:
    return re.sub(r"^blocks\.\d+\.", "blocks.N.", name)


@models
def test_every_tap_is_called_once_with_the_shape_that_the_page_says(model: nn.Module) -> None:
    calls: dict[str, list[Tensor]] = {name: [] for name in taps_of(model)}
    with listeners(model, {name: values.append for name, values in calls.items()}):
        model(*inputs())
    shapes = {name: [values.shape for values in found] for name, found in calls.items()}
    assert shapes == {name: [DOCUMENTED[numberless(name)]] for name in calls}
    assert len(calls) > 20


def test_the_page_names_no_tap_that_no_model_has() -> None:
    assert {numberless(name) for model in MODELS.values() for name in taps_of(model)} == DOCUMENTED.keys()


@models
def test_listening_changes_no_answer_but_for_rounding_and_leaves_nothing_behind(model: nn.Module) -> None:
    read = inputs()
    before = model(*read)
    with listening(model) as heard:
        listened = model(*read)
    torch.testing.assert_close(listened, before, rtol=1e-4, atol=1e-5)
    assert torch.equal(model(*read), before)
    assert heard.keys() == taps_of(model).keys()
    assert not any(tap.heard for tap in taps_of(model).values())
    assert torch.equal(listened, heard["logits"])


@models
def test_taps_add_no_weights(model: nn.Module) -> None:
    assert not any("tap" in name for name in model.state_dict())
    assert not any(list(tap.parameters()) or list(tap.buffers()) for tap in taps_of(model).values())


def test_what_passes_is_what_the_name_says() -> None:
    model, (token_ids, mask) = randomise(classifier(dropout=0)).eval(), inputs()
    with listening(model) as heard:
        logits = model(token_ids, mask)
    assert torch.equal(heard["logits"], logits)
    assert torch.equal(heard["embedding"], model.trunk.embedding(token_ids))
    torch.testing.assert_close(heard["hidden"], model.trunk.read_vectors(heard["embedding"], mask))
    attention = "blocks.1.attention"
    weights = heard[f"{attention}.weights"]
    torch.testing.assert_close(heard[f"{attention}.scores"].softmax(-1), weights)
    torch.testing.assert_close(weights @ heard[f"{attention}.value"], heard[f"{attention}.heads"])
    assert (weights[1, :, :, 4:] == 0).all()
    after = heard["blocks.0.after_feed_forward"] + heard[f"{attention}.output"]
    torch.testing.assert_close(heard["blocks.1.after_attention"], after)
    torch.testing.assert_close(heard["pooled"], model.pooling(heard["hidden"], mask))


def test_the_logits_of_a_language_model_are_those_that_were_asked_for() -> None:
    model = randomise(LanguageModel(LanguageModelConfig.model_validate(SHAPE), VOCAB_SIZE)).eval()
    with listening(model, ["logits", "hidden"]) as heard:
        logits = model.logits(model.read(*inputs())[:, -1])
    assert torch.equal(heard["logits"], logits)
    assert heard["hidden"].shape == (3, 7, 12)


def test_with_a_listener_elsewhere_attention_stays_fused() -> None:
    model, read = randomise(classifier()).eval(), inputs()
    before = model(*read)
    with listening(model, ["logits", "blocks.0.attention.query"]):
        assert torch.equal(model(*read), before)


def test_a_name_that_is_none_is_refused() -> None:
    with (
        pytest.raises(ValueError, match=r"no tap 'blocks.9.output'; it has blocks.0.attention_pre_norm.output, "),
        listening(classifier(), ["blocks.9.output"]),
    ):
        pass


def test_a_failing_forward_leaves_no_listener() -> None:
    model = classifier()
    with pytest.raises(IndexError), listening(model):
        model(torch.full((1, 3), VOCAB_SIZE), torch.ones(1, 3, dtype=torch.bool))
    assert not any(tap.heard for tap in taps_of(model).values())


def test_exported_models_hold_no_tap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    model, read = randomise(classifier()).eval(), inputs()
    exported = torch.export.export(model, read)
    torch.testing.assert_close(exported.module()(*read), model(*read))
    assert "tap" not in exported.graph_module.code
    assert isinstance(model.tap_logits, Tap)
