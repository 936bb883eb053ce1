import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Literal, get_args

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.func import functional_call

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.dropout import Dropout
from glassformer.layers.norms import BatchNorm
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import PRESETS, ModelConfig
from tests.support import double_precision, randomise, right_padded

VOCAB_SIZE, N_CLASSES, MAX_SEQ_LEN = 11, 3, 9


def choices(field: str) -> tuple[str, ...]:
    return get_args(ModelConfig.model_fields[field].annotation)


def model_of(**settings: object) -> Classifier:
    """A small model in float64 with random weights, in evaluation mode."""
    sizes = {"d_model": 12, "n_layers": 2, "n_heads": 2, "d_ff": 5, "max_seq_len": MAX_SEQ_LEN}
    with double_precision():
        model = Classifier(ModelConfig.model_validate(sizes | settings), VOCAB_SIZE, N_CLASSES)
    return randomise(model, std=0.3).eval()  # deviations above √(1/d_model) blow up without norms


def random_ids(batch: int, seq: int) -> Tensor:
    return torch.randint(VOCAB_SIZE, (batch, seq))


def difference(a: Tensor, b: Tensor) -> float:
    return (a - b).abs().max().item()


def batches(texts: Sequence[Tensor], extra: int) -> tuple[Tensor, Tensor]:
    """Texts side by side. Padding holds arbitrary token ids, so that one that were looked at would show."""
    mask = right_padded([len(text) for text in texts], seq=max(map(len, texts)) + extra)
    token_ids = random_ids(*mask.shape)
    for row, text in enumerate(texts):
        token_ids[row, : len(text)] = text
    return token_ids, mask


@pytest.mark.parametrize("pooling", choices("pooling"))
@pytest.mark.parametrize("positions", choices("positions"))
def test_neither_padding_nor_neighbours_change_an_answer(pooling: str, positions: str) -> None:
    attention = "causal" if pooling == "last" else "full"
    for norm, residual in product(choices("norm"), choices("residual")):
        model = model_of(norm=norm, pooling=pooling, positions=positions, residual=residual, attention=attention)
        texts = [torch.randint(VOCAB_SIZE, (length,)) for length in (5, 2, 7, 1)]

        together = model(*batches(texts, extra=2))

        alone = torch.cat([model(*batches([text], extra=0)) for text in texts])
        assert difference(together, alone) < 1e-10, (norm, residual)
        assert difference(alone[:1], alone[1:2]) > 1e-6, (norm, residual)


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    extra=st.integers(0, 3),
    attention=st.sampled_from(choices("attention")),
    embedding=st.sampled_from(choices("embedding")),
    feed_forward=st.sampled_from(choices("feed_forward")),
)
def test_padding_invariance_of_the_other_parts(
    lengths: list[int], extra: int, attention: str, embedding: str, feed_forward: str
) -> None:
    model = model_of(attention=attention, embedding=embedding, feed_forward=feed_forward)
    texts = [torch.randint(VOCAB_SIZE, (length,)) for length in lengths]

    together = model(*batches(texts, extra))

    assert difference(together, torch.cat([model(*batches([text], 0)) for text in texts])) < 1e-10


@pytest.mark.parametrize("residual", choices("residual"))
def test_batch_norm_in_training_is_blind_to_padding(residual: str) -> None:
    model = model_of(norm="batch", residual=residual, dropout=0).train()
    texts = [torch.randint(VOCAB_SIZE, (length,)) for length in (5, 2, 6)]
    start = {name: value.clone() for name, value in model.state_dict().items()}
    narrow, wide = dict(start), {name: value.clone() for name, value in start.items()}

    tight = functional_call(model, narrow, batches(texts, extra=0))
    loose = functional_call(model, wide, batches(texts, extra=3))

    assert any(isinstance(module, BatchNorm) for module in model.modules())
    assert difference(tight, loose) < 1e-10
    torch.testing.assert_close(narrow, wide)


def final_hidden(model: Classifier, token_ids: Tensor) -> Tensor:
    """What the pooling is given."""
    seen: list[Tensor] = []
    handle = model.pooling.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    model(token_ids, torch.ones_like(token_ids, dtype=torch.bool))
    handle.remove()
    return seen[0]


@given(seq=st.integers(2, MAX_SEQ_LEN), positions=st.sampled_from(choices("positions")), data=st.data())
def test_a_causal_model_does_not_look_ahead(seq: int, positions: str, data: st.DataObject) -> None:
    first_changed = data.draw(st.integers(1, seq - 1))
    token_ids = random_ids(2, seq)
    changed = token_ids.clone()
    changed[:, first_changed:] = (changed[:, first_changed:] + 1) % VOCAB_SIZE

    def seen_before(attention: Literal["full", "causal"]) -> float:
        model = model_of(attention=attention, positions=positions)
        before, after = final_hidden(model, token_ids), final_hidden(model, changed)
        return difference(before[:, :first_changed], after[:, :first_changed])

    assert seen_before("causal") < 1e-12
    assert seen_before("full") > 1e-9


@given(positions=st.sampled_from(choices("positions")), pooling=st.sampled_from(["mean", "max", "attention"]))
def test_order_counts_exactly_when_there_are_positions(positions: str, pooling: str) -> None:
    model = model_of(positions=positions, pooling=pooling)
    token_ids, mask = torch.arange(6).expand(2, 6), right_padded([6, 4])
    shuffled = torch.tensor([[3, 5, 0, 4, 1, 2], [2, 0, 3, 1, 4, 5]])  # the second among its four tokens

    moved = (model(token_ids, mask) - model(shuffled, mask)).abs().amax(1)

    if positions == "none":
        assert moved.max() < 1e-12
    else:
        assert moved.min() > 1e-9


@pytest.mark.parametrize("attention", choices("attention"))
@pytest.mark.parametrize("pooling", ["first", "last", "mean", "max", "attention"])
@pytest.mark.parametrize("positions", ["none", "rotary"])
def test_padding_on_the_left_changes_nothing_where_distance_alone_counts(
    attention: str, pooling: str, positions: str
) -> None:
    model = model_of(attention=attention, pooling=pooling, positions=positions)
    token_ids, mask = random_ids(2, 7), right_padded([5, 2], seq=7)

    assert difference(model(token_ids, mask), model(token_ids.roll(2, 1), mask.roll(2, 1))) < 1e-10


@pytest.mark.parametrize("positions", choices("positions"))
@pytest.mark.parametrize("pooling", choices("pooling"))
def test_any_length_up_to_the_window(positions: str, pooling: str) -> None:
    model = model_of(positions=positions, pooling=pooling)
    for seq in range(1, MAX_SEQ_LEN + 1):
        logits = model(random_ids(2, seq), right_padded([seq, 1]))
        assert logits.shape == (2, N_CLASSES)
        assert logits.isfinite().all()


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("preset", PRESETS)
def test_loss_before_training_is_that_of_a_blind_guess(preset: str, n_classes: int) -> None:
    model = Classifier(PRESETS[preset], vocab_size=50, n_classes=n_classes)

    logits = model(torch.randint(50, (4, 6)), right_padded([6, 3, 2, 1]))

    loss = F.cross_entropy(logits, torch.randint(n_classes, (4,)))
    assert abs(loss.item() - math.log(n_classes)) < 1e-6


@pytest.mark.parametrize(("embedding", "words"), [("learned", 0.02), ("one-hot", 1.0)])
def test_sinusoidal_positions_do_not_drown_the_words(embedding: str, words: float) -> None:
    """The paper multiplies embeddings to a variance of 1; ours are smaller, and so are the waves beside them."""
    settings = {"d_model": 512, "n_heads": 2, "positions": "sinusoidal", "embedding": embedding}
    model = Classifier(ModelConfig.model_validate(settings), vocab_size=300, n_classes=2)
    position = model.trunk.positions(torch.zeros(1, 9, 512)).square().mean().sqrt().item()
    assert position == pytest.approx(words / 2**0.5, rel=1e-3)
    if embedding == "learned":
        assert model.trunk.embedding.get_parameter("weight").std().item() == pytest.approx(words, rel=0.05)


def test_blocks_start_as_nothing_and_projections_into_them_at_unit_variance() -> None:
    config = ModelConfig(d_model=96, n_layers=2, n_heads=3, d_ff=80, positions="none", dropout=0)
    model = Classifier(config, VOCAB_SIZE, N_CLASSES)
    hidden, mask = model.trunk.embedding(random_ids(2, 6)), right_padded([6, 3])

    for block in model.trunk.blocks:
        assert torch.equal(block(hidden, mask), hidden)
    into_branches = [weight for name, weight in model.named_parameters() if name.endswith("in_projection.weight")]
    assert len(into_branches) == 4
    for weight in into_branches:
        assert weight.std().item() == pytest.approx(96**-0.5, rel=0.02)


@pytest.mark.parametrize("feed_forward", choices("feed_forward"))
@pytest.mark.parametrize("norm", choices("norm"))
def test_every_weight_learns_within_three_steps(feed_forward: str, norm: str) -> None:
    """Branches and head start at zero, so that gradients reach what lies before them a step later."""
    sizes = {"d_model": 12, "n_layers": 2, "n_heads": 2, "d_ff": 5, "max_seq_len": MAX_SEQ_LEN, "dropout": 0}
    parts = {"feed_forward": feed_forward, "norm": norm, "pooling": "attention", "positions": "learned"}
    model = Classifier(ModelConfig.model_validate(sizes | parts), VOCAB_SIZE, N_CLASSES)
    start = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    token_ids, mask, labels = random_ids(8, MAX_SEQ_LEN), right_padded([MAX_SEQ_LEN, 3] * 4), torch.arange(8) % 3

    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(token_ids, mask), labels).backward()
        optimizer.step()

    still = [name for name, parameter in model.named_parameters() if torch.equal(parameter, start[name])]
    assert still == []


@pytest.mark.parametrize("norm", choices("norm"))
@pytest.mark.parametrize("positions", choices("positions"))
def test_bfloat16_autocast_runs_forward_and_backward(norm: str, positions: str) -> None:
    model = model_of(norm=norm, positions=positions, pooling="attention").float().train()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(random_ids(3, 6), right_padded([6, 4, 1]))
    logits.float().square().sum().backward()

    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_gradients_of_the_whole_model_against_finite_differences() -> None:
    with double_precision():
        config = ModelConfig(d_model=4, n_layers=1, n_heads=2, d_ff=3, max_seq_len=5, norm="layer", pooling="attention")
        model = randomise(Classifier(config, vocab_size=5, n_classes=2)).eval()
    token_ids, mask = torch.tensor([[0, 4, 2], [1, 4, 3]]), right_padded([3, 2])
    names, weights = zip(*model.named_parameters(), strict=True)

    def logits(*values: Tensor) -> Tensor:
        return functional_call(model, dict(zip(names, values, strict=True)), (token_ids, mask))

    assert torch.autograd.gradcheck(logits, weights)


def test_state_survives_a_round_trip() -> None:
    settings = {"norm": "batch", "positions": "learned", "pooling": "attention"}
    model, other = model_of(**settings), model_of(**settings)
    token_ids, mask = random_ids(3, 7), right_padded([7, 4, 2])
    assert difference(model(token_ids, mask), other(token_ids, mask)) > 1e-6

    other.load_state_dict(model.state_dict())

    assert torch.equal(model(token_ids, mask), other(token_ids, mask))


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "rotary", "rotary-on-embeddings"])
def test_tables_that_follow_from_the_config_are_not_stored(positions: str) -> None:
    model = model_of(positions=positions)
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize(
    ("feed_forward", "activation", "gated"),
    [
        ("relu", F.relu, False),
        ("gelu", F.gelu, False),
        ("glu", F.sigmoid, True),
        ("swiglu", F.silu, True),
        ("geglu", F.gelu, True),
    ],
)
def test_feed_forwards_by_name(feed_forward: str, activation: Callable[[Tensor], Tensor], gated: bool) -> None:
    model = model_of(feed_forward=feed_forward, n_layers=1)
    weights = dict(model.named_parameters())
    hidden = torch.randn(2, 7, 12, dtype=torch.float64)
    inner = hidden @ weights["trunk.blocks.0.feed_forward.in_projection.weight"].T
    mixed = activation(inner[..., :5]) * inner[..., 5:] if gated else activation(inner)

    expected = mixed @ weights["trunk.blocks.0.feed_forward.out_projection.weight"].T

    torch.testing.assert_close(model.get_submodule("trunk.blocks.0.feed_forward")(hidden), expected)


@pytest.mark.parametrize(("pooling", "position"), [("first", 0), ("last", 3)])
def test_pooling_by_name(pooling: str, position: int) -> None:
    model = model_of(pooling=pooling)
    token_ids = random_ids(2, 4)

    expected = model.head(final_hidden(model, token_ids)[:, position])

    torch.testing.assert_close(model(token_ids, right_padded([4, 4])), expected)


def test_dropout_stands_after_the_embedding_in_both_branches_and_before_the_head() -> None:
    model = model_of(dropout=0.25, attention_dropout=0.125).train()
    dropped: list[tuple[float, torch.Size]] = []
    for module in model.modules():
        if isinstance(module, Dropout):
            module.register_forward_hook(lambda part, _, output: dropped.append((part.p, output.shape)))

    model(random_ids(3, 7), right_padded([7, 4, 2]))

    inside = (0.25, (3, 7, 12))
    assert dropped == [inside, inside, inside, inside, inside, (0.25, (3, 12))]
    assert [module.dropout for module in model.modules() if isinstance(module, MultiHeadAttention)] == [0.125, 0.125]


def test_dropout_acts_in_training_alone() -> None:
    model = model_of(dropout=0.5)
    token_ids, mask = random_ids(3, 7), right_padded([7, 4, 2])

    assert torch.equal(model(token_ids, mask), model(token_ids, mask))
    model.train()
    assert not torch.equal(model(token_ids, mask), model(token_ids, mask))
