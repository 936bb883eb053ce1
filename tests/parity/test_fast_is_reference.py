from collections.abc import Callable, Iterator

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.layers import linear
from glassformer.layers.attention import MultiHeadAttention, fused_attention, plain_attention, short_attention
from glassformer.layers.block import Block
from glassformer.layers.embeddings import TokenEmbedding
from glassformer.layers.linear import Linear, fastest_linear, linear_as_convolution
from glassformer.layers.masks import CausalPattern, FullPattern, LocalPattern
from glassformer.layers.norms import LayerNorm, RMSNorm, plain_layer_norm, plain_rms_norm
from glassformer.layers.positions import NoPositions, Rotary
from glassformer.layers.slots import Pattern, PositionLayer
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import ModelConfig
from tests.support import embed_by_product, gradients, randomise, right_padded

TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12}
dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
modes = pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])


def assert_same(fast: Tensor, plain: Tensor) -> None:
    tolerance = TOLERANCE[plain.dtype]
    torch.testing.assert_close(fast, plain, rtol=tolerance, atol=tolerance)


def assert_same_with_gradients(fast: Tensor, plain: Tensor, inputs: list[Tensor]) -> None:
    assert_same(fast, plain)
    for of_fast, of_plain in zip(gradients(fast, inputs), gradients(plain, inputs), strict=True):
        assert of_plain.abs().max() > 0
        assert_same(of_fast, of_plain)


@dtypes
@pytest.mark.parametrize("shape", [(12,), (1, 12), (16, 12), (3, 7, 12), (2, 2, 8, 12)], ids=str)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_linear_as_convolution(dtype: torch.dtype, shape: tuple[int, ...], bias: bool) -> None:
    hidden = torch.randn(*shape, dtype=dtype, requires_grad=True)
    weights = [torch.randn(5, 12, dtype=dtype, requires_grad=True), torch.randn(5, dtype=dtype, requires_grad=True)]
    used = weights[: 1 + bias]

    assert_same_with_gradients(linear_as_convolution(hidden, *used), F.linear(hidden, *used), [hidden, *used])
    across = torch.randn(6, 12, 4, dtype=dtype).transpose(1, 2)[::2]  # not as it lies in memory
    assert_same(linear_as_convolution(across, *used), F.linear(across, *used))


def test_only_large_products_in_float32_are_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = list[torch.Size]()

    def convolution(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        taken.append(hidden.shape)
        return linear_as_convolution(hidden, weight, bias)

    monkeypatch.setattr(linear, "linear_as_convolution", convolution)
    monkeypatch.setattr(linear, "_mkl_lacks_avx512", lambda: True)
    layer, hidden = Linear(128, 256), torch.randn(8, 16, 128)
    assert_same(layer(hidden), F.linear(hidden, layer.weight, layer.bias))
    assert taken == [hidden.shape]

    layer(hidden[:7])
    layer.double()(hidden.double())
    layer.to(torch.bfloat16)(hidden.bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        layer.float()(hidden)
    exported = torch.export.export(layer, (hidden,)).graph
    monkeypatch.setattr(linear, "_mkl_lacks_avx512", lambda: False)
    fastest_linear(hidden, layer.weight)
    assert taken == [hidden.shape]
    assert "linear" in str(exported)


@dtypes
@modes
@pytest.mark.parametrize("lengths", [[7, 7, 7], [7, 4, 1]], ids=["all tokens", "padded"])
@pytest.mark.parametrize("pattern", [FullPattern(), CausalPattern(), LocalPattern(2)], ids=["full", "causal", "local"])
@pytest.mark.parametrize("rotation", [NoPositions(), Rotary(9, 6)], ids=["straight", "rotated"])
def test_fused_attention(
    dtype: torch.dtype, training: bool, lengths: list[int], pattern: Pattern, rotation: PositionLayer
) -> None:
    layer = randomise(MultiHeadAttention(12, 2, pattern=pattern, rotation=rotation)).to(dtype).train(training)
    hidden = torch.randn(3, 7, 12, dtype=dtype, requires_grad=True)
    mask = right_padded(lengths)

    outputs = {}
    for kernel in (fused_attention, plain_attention):
        layer.kernel = kernel
        outputs[kernel] = layer(hidden, mask)

    assert_same_with_gradients(outputs[fused_attention], outputs[plain_attention], [hidden, *layer.parameters()])


@dtypes
@pytest.mark.parametrize(
    "mask",
    [right_padded([7, 4, 2])[:, None, None], torch.ones(7, 7, dtype=torch.bool).tril()[None, None]],
    ids=["padded", "causal"],
)
def test_attention_with_a_backward_pass_of_its_own(dtype: torch.dtype, mask: Tensor) -> None:
    inputs = [torch.randn(3, 2, 7, 4, dtype=dtype, requires_grad=True) for _ in range(3)]
    query, key, value = inputs

    own, plain = short_attention(query, key, value, mask), plain_attention(query, key, value, mask)

    torch.testing.assert_close(own, plain, rtol=2e-5, atol=2e-5)  # its softmax is in float32
    for of_own, of_plain in zip(gradients(own, inputs), gradients(plain, inputs), strict=True):
        torch.testing.assert_close(of_own, of_plain, rtol=2e-5, atol=2e-5)


def test_attention_in_bfloat16_is_closer_to_float32_than_the_plain_path() -> None:
    exact = [torch.randn(3, 2, 24, 8, requires_grad=True) for _ in range(3)]
    half = [each.detach().bfloat16().requires_grad_() for each in exact]
    mask = right_padded([24, 9, 2])[:, None, None]

    def errors(kernel: Callable[..., Tensor]) -> list[float]:
        query, key, value = exact
        of_half, of_exact = kernel(*half, mask), plain_attention(query, key, value, mask)
        pairs = zip([of_half, *gradients(of_half, half)], [of_exact, *gradients(of_exact, exact)], strict=True)
        return [
            float((ours.detach().float() - theirs.detach()).norm() / theirs.detach().norm()) for ours, theirs in pairs
        ]

    for own, plain in zip(errors(short_attention), errors(plain_attention), strict=True):
        assert own < 1.1 * plain
        assert own < 0.02


@dtypes
@modes
def test_classifier_with_either_kernel(dtype: torch.dtype, training: bool) -> None:
    config = ModelConfig(d_model=12, n_layers=2, n_heads=3, d_ff=5, max_seq_len=9, dropout=0)
    model = randomise(Classifier(config, vocab_size=11, n_classes=4), std=0.3).to(dtype).train(training)
    token_ids, mask = torch.randint(11, (3, 7)), right_padded([7, 4, 2])

    fast = model(token_ids, mask)
    for block in model.trunk.blocks:
        assert isinstance(block, Block)
        assert isinstance(block.attention, MultiHeadAttention)
        block.attention.kernel = plain_attention

    assert_same_with_gradients(fast, model(token_ids, mask), list(model.parameters()))


@dtypes
@pytest.mark.parametrize("bias", [True, False], ids=["with bias", "without bias"])
def test_layer_norm(dtype: torch.dtype, bias: bool) -> None:
    norm = randomise(LayerNorm(6, eps=1e-3, bias=bias)).to(dtype)
    hidden = torch.randn(2, 4, 6, dtype=dtype, requires_grad=True)

    fast, plain = norm(hidden, right_padded([4, 3])), plain_layer_norm(hidden, norm.weight, norm.bias, norm.eps)

    assert_same_with_gradients(fast, plain, [hidden, *norm.parameters()])


@dtypes
def test_rms_norm(dtype: torch.dtype) -> None:
    norm = randomise(RMSNorm(6, eps=1e-3)).to(dtype)
    hidden = torch.randn(2, 4, 6, dtype=dtype, requires_grad=True)

    fast, plain = norm(hidden, right_padded([4, 3])), plain_rms_norm(hidden, norm.weight, norm.eps)

    assert_same_with_gradients(fast, plain, [hidden, *norm.parameters()])


@dtypes
def test_token_embedding(dtype: torch.dtype) -> None:
    embedding = TokenEmbedding(11, 5).to(dtype)
    token_ids = torch.randint(11, (3, 4))

    fast, plain = embedding(token_ids), embed_by_product(token_ids, embedding.weight)

    assert torch.equal(fast, plain)
    assert_same_with_gradients(fast, plain, [embedding.weight])


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """A compiler should see the model, not the shape checks around it."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked_shapes")
def test_compiled_classifier() -> None:
    config = ModelConfig(d_model=8, n_layers=1, n_heads=2, d_ff=12, max_seq_len=9)
    model = randomise(Classifier(config, vocab_size=11, n_classes=3), std=0.3).eval()
    token_ids, mask = torch.randint(11, (3, 7)), right_padded([7, 4, 2])

    with torch.no_grad():
        # One graph of the whole model, and the derivatives of its parts: what is ours. Turning it into C++ is not, and
        # takes from 12 to 20 seconds even for this model.
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")(token_ids, mask)
        assert_same(compiled, model(token_ids, mask))
