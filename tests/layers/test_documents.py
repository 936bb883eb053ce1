"""The worked numbers of the documents that the bricks were built from. Each test names its document.

- *Deep Learning*: notes on cross entropy, initialisation, batch norm and the transformer, step by step.
- *Transformers from Scratch with Pytorch*: Phuoc Bui and Thuong Dang.
- *Transformer for Text Classification*: Quang-Vinh Dinh, AI Viet Nam.
- *Transformer Model from Scratch for Sentiment Classification*: a notebook on tweets.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.layers.attention import MultiHeadAttention, attention_weights, fused_attention, plain_attention
from glassformer.layers.embeddings import TokenEmbedding
from glassformer.layers.masks import CausalPattern, FullPattern
from glassformer.layers.norms import BatchNorm, plain_layer_norm
from glassformer.layers.pooling import MeanPooling
from glassformer.layers.positions import NoPositions, Rotary, inverse_frequencies, sinusoidal_table
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import ModelConfig
from tests.support import attention_of, double_precision, embed_by_product, randomise, right_padded

ROWS = [[2.0, 7], [6, 4], [6, 5]]


def assert_printed(actual: Tensor, printed: list[list[float]], decimals: int) -> None:
    """Equal to what a page prints, within half a unit of its last decimal."""
    tolerance = 0.501 * 10.0**-decimals
    torch.testing.assert_close(actual.double(), torch.tensor(printed, dtype=torch.float64), rtol=0, atol=tolerance)


def assert_cut(actual: Tensor, printed: list[list[float]]) -> None:
    """As `assert_printed`, for slides that cut numbers off after two decimals instead of rounding them."""
    torch.testing.assert_close(actual, torch.tensor(printed, dtype=torch.float64), rtol=0, atol=0.01)


def causal_weights(scores: Tensor) -> Tensor:
    """Attention weights whose scores are the given ones: the queries times a key table that is the identity."""
    size = len(scores)
    mask = CausalPattern()(torch.ones(1, size, dtype=torch.bool))[0]
    return attention_weights(scores[None] * math.sqrt(size), torch.eye(size, dtype=scores.dtype)[None], mask)[0]


def test_deep_learning_embedding_is_a_one_hot_product() -> None:
    table = [[0.3839, 0.3059, -0.2729], [0.1917, -0.0568, -0.4838], [-0.0663, 0.2103, 0.4577], [0.0898, 0.1073, 0.0337]]
    embedding, linear = TokenEmbedding(4, 3), nn.Linear(4, 3, bias=False)
    embedding.load_state_dict({"weight": torch.tensor(table)})
    linear.load_state_dict({"weight": torch.tensor(table).T})
    token_ids = torch.tensor([[3, 2, 1]])

    vectors = embedding(token_ids)

    assert torch.equal(vectors[0], torch.tensor([table[3], table[2], table[1]]))
    assert torch.equal(vectors, embed_by_product(token_ids, embedding.weight))
    assert torch.equal(vectors, linear(F.one_hot(token_ids, 4).float()))


def test_deep_learning_sums_and_averages_over_what_came_before() -> None:
    values = torch.tensor(ROWS)
    no_preference = causal_weights(torch.zeros(3, 3))

    averages = no_preference @ values

    assert_printed(averages, [[2, 7], [4, 5.5], [4.6667, 5.3333]], decimals=4)
    assert_printed(averages * torch.tensor([[1], [2], [3]]), [[2, 7], [8, 11], [14, 16]], decimals=5)
    assert_printed(MeanPooling()(values[None], right_padded([3])), [[4.6667, 5.3333]], decimals=4)


def test_deep_learning_attention_without_preference_is_one_over_i() -> None:
    weights = causal_weights(torch.zeros(8, 8))
    for row in range(8):
        torch.testing.assert_close(weights[row], torch.tensor([1 / (row + 1)] * (row + 1) + [0] * (7 - row)))


def test_deep_learning_raw_scores_to_causal_weights() -> None:
    scores = [
        [-1.7629, -1.3011, 0.5652, 2.1616, -1.0674, 1.9632, 1.0765, -0.4530],
        [-3.3334, -1.6556, 0.1040, 3.3782, -2.1825, 1.0415, -0.0557, 0.2927],
        [-1.0226, -1.2606, 0.0762, -0.3813, -0.9843, -1.4303, 0.0749, -0.9547],
        [0.7836, -0.8014, -0.3368, -0.8496, -0.5602, -1.1701, -1.2927, -1.0260],
        [-1.2566, 0.0187, -0.7880, -1.3204, 2.0363, 0.8638, 0.3719, 0.9258],
        [-0.3126, 2.4152, -0.1106, -0.9931, 3.3449, -2.5229, 1.4187, 1.2196],
        [1.0876, 1.9652, -0.2621, -0.3158, 0.6091, 1.2616, -0.5484, 0.8048],
        [-1.8044, -0.4126, -0.8306, 0.5899, -0.7987, -0.5856, 0.6433, 0.6303],
    ]
    printed = [
        [1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.1574, 0.8426, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.2088, 0.1646, 0.6266, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.5792, 0.1187, 0.1889, 0.1131, 0.0000, 0.0000, 0.0000, 0.0000],
        [0.0294, 0.1052, 0.0469, 0.0276, 0.7909, 0.0000, 0.0000, 0.0000],
        [0.0176, 0.2689, 0.0215, 0.0089, 0.6812, 0.0019, 0.0000, 0.0000],
        [0.1691, 0.4066, 0.0438, 0.0416, 0.1048, 0.2012, 0.0329, 0.0000],
        [0.0210, 0.0843, 0.0555, 0.2297, 0.0573, 0.0709, 0.2423, 0.2391],
    ]
    assert_printed(causal_weights(torch.tensor(scores, dtype=torch.float64)), printed, decimals=4)


def test_deep_learning_sinusoidal_positions_of_width_six() -> None:
    assert inverse_frequencies(6, 10_000.0).tolist() == pytest.approx([1, 0.0464158883, 0.0021544347], rel=1e-8)
    printed = [
        [0.0000, 1.0000, 0.0000, 1.0000, 0.0000, 1.0000],
        [0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0000],
        [0.9093, -0.4161, 0.0927, 0.9957, 0.0043, 1.0000],
        [0.1411, -0.9900, 0.1388, 0.9903, 0.0065, 1.0000],
    ]
    assert_printed(sinusoidal_table(4, 6), printed, decimals=4)


def test_transformers_from_scratch_positions_of_i_am_happy() -> None:
    with double_precision():
        table = sinusoidal_table(3, 4)
    worked = [
        [0.0, 1, 0, 1],
        [0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004],
        [0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067],
    ]
    assert_printed(table, worked, decimals=10)


@pytest.mark.parametrize(("n_classes", "printed"), [(2, 0.693147), (3, 1.098612), (27, 3.295837), (65, 4.174387)])
def test_deep_learning_loss_before_training_is_that_of_a_blind_guess(n_classes: int, printed: float) -> None:
    config = ModelConfig(d_model=6, n_layers=1, n_heads=3, d_ff=5, max_seq_len=7, positions="none")
    model = Classifier(config, vocab_size=13, n_classes=n_classes)

    logits = model(torch.randint(13, (4, 7)), right_padded([7, 5, 2, 1]))

    loss = F.cross_entropy(logits, torch.randint(n_classes, (4,)))
    assert loss.item() == pytest.approx(printed, abs=1e-6)


def test_deep_learning_running_mean_moves_by_a_thousandth() -> None:
    norm = BatchNorm(3, momentum=0.001).double()
    hidden = torch.randn(2, 5, 3, dtype=torch.float64)
    start = norm.norm.state_dict()["running_mean"].clone() + 2
    norm.norm.load_state_dict({**norm.norm.state_dict(), "running_mean": start})

    norm(hidden, right_padded([5, 5]))

    after = norm.norm.state_dict()
    torch.testing.assert_close(after["running_mean"], 0.999 * start + 0.001 * hidden.mean((0, 1)))
    # the notes keep a running standard deviation; here, as in torch, it is the variance that is kept
    torch.testing.assert_close(after["running_var"], 0.999 + 0.001 * hidden.flatten(0, 1).var(0))


def test_transformers_from_scratch_z_score() -> None:
    """Its normalisation divides by the sample deviation and has no epsilon, unlike ours."""

    def z_score(row: Tensor) -> Tensor:
        return (row - row.mean()) / row.std()

    for pair in ([3.0, 1.0], [-0.2, -700.0]):
        row = torch.tensor(pair, dtype=torch.float64)
        ours = plain_layer_norm(row, torch.ones(2).double(), torch.zeros(2).double(), 0.0)
        assert_printed(z_score(row)[None], [[0.70710678, -0.70710678]], decimals=8)
        torch.testing.assert_close(ours * math.sqrt(1 / 2), z_score(row))  # √((n−1)/n) between the two deviations

    constant = torch.full((4,), 5.0)
    assert z_score(constant).isnan().all()
    assert plain_layer_norm(constant, torch.ones(4), torch.zeros(4), 1e-5).tolist() == [0, 0, 0, 0]


class TestAttentionExamples:
    """*Transformer for Text Classification*, "Self-Attention", examples 1 and 2 (one head, width 3)."""

    WQ = ((-0.35, 0.51, 0.50), (0.36, -0.47, -0.29), (-0.51, -0.14, -0.56))
    WK = ((-0.49, -0.68, 0.18), (-0.44, -0.46, 0.18), (0.07, -0.10, 0.44))
    WV = ((-0.41, 0.39, -0.65), (-0.40, -0.07, -0.34), (-0.55, -0.13, -0.29))
    WO = ((-0.36, -0.08, 0.32), (0.27, 0.05, 0.15), (-0.05, -0.28, 0.05))
    FIRST = (-0.1, 0.1, 0.3)
    SECOND = (0.4, -1.1, -0.3)

    @pytest.fixture
    def layer(self) -> MultiHeadAttention:
        """The slides multiply by W from the right, torch's linear layers by its transpose."""
        layer = MultiHeadAttention(3, 1, pattern=FullPattern(), rotation=NoPositions()).double()
        stacked = torch.cat([torch.tensor(matrix, dtype=torch.float64).T for matrix in (self.WQ, self.WK, self.WV)])
        layer.in_projection.load_state_dict({"weight": stacked})
        layer.out_projection.load_state_dict({"weight": torch.tensor(self.WO, dtype=torch.float64).T})
        return layer

    def test_example_1(self, layer: MultiHeadAttention) -> None:
        hidden, mask = torch.tensor([[self.FIRST]], dtype=torch.float64), right_padded([1])
        query, key, value = layer.query_key_value(hidden)

        assert_cut(query[0, 0], [[-0.08, -0.14, -0.24]])
        assert_cut(key[0, 0], [[0.02, -0.01, 0.13]])
        assert_cut(value[0, 0], [[-0.16, -0.08, -0.05]])
        assert_printed((query @ key.mT)[0, 0] / math.sqrt(3), [[-0.019408]], decimals=6)
        assert attention_of(layer, hidden, mask).tolist() == [[[[1.0]]]]
        assert_printed(layer(hidden, mask)[0], [[0.03889, 0.02455, -0.06803]], decimals=5)

    def test_example_1_slide_forgot_its_last_product(self, layer: MultiHeadAttention) -> None:
        slide = [[-0.16, -0.08, -0.05]]  # printed as Y = A·W_O, but it is A
        hidden, mask = torch.tensor([[self.FIRST]], dtype=torch.float64), right_padded([1])

        assert_cut(plain_attention(*layer.query_key_value(hidden), mask[:, None, None])[0, 0], slide)
        with pytest.raises(AssertionError):
            assert_cut(layer(hidden, mask)[0], slide)

    def test_example_2(self, layer: MultiHeadAttention) -> None:
        hidden, mask = torch.tensor([[self.FIRST, self.SECOND]], dtype=torch.float64), right_padded([2])
        attended = plain_attention(*layer.query_key_value(hidden), mask[:, None, None])

        assert_printed(
            attention_of(layer, hidden, mask)[0, 0], [[0.494445, 0.505555], [0.522026, 0.477974]], decimals=6
        )
        assert_printed(attended[0, 0], [[0.141861, 0.095483, 0.073928], [0.125174, 0.085637, 0.066839]], decimals=6)
        expected = [[-0.028986, -0.027274, 0.063414], [-0.025283, -0.024447, 0.056243]]
        assert_printed(layer(hidden, mask)[0], expected, decimals=6)

    def test_example_2_slide_carries_its_rounding_along(self, layer: MultiHeadAttention) -> None:
        """Its result is computed from weights rounded to two decimals, and so is right to two decimals only."""
        slide = torch.tensor([[-0.029, -0.028, 0.065], [-0.025, -0.025, 0.058]], dtype=torch.float64)
        hidden = torch.tensor([[self.FIRST, self.SECOND]], dtype=torch.float64)

        difference = (layer(hidden, right_padded([2]))[0] - slide).abs().max()

        assert 0.001 < difference.item() < 0.002


def test_sentiment_notebook_rotates_embeddings_which_loses_what_rotation_is_for() -> None:
    """Norms are kept and position 0 is left alone either way; distance alone decides on queries and keys only."""
    with double_precision():
        rotation, (query, key) = Rotary(12, 6), torch.randn(2, 6)
        query_projection, key_projection = torch.randn(2, 6, 6)
    queries, keys = rotation(query.expand(12, 6)), rotation(key.expand(12, 6))

    torch.testing.assert_close(queries.norm(dim=1), query.norm().expand(12))
    assert torch.equal(queries[0], query)

    def spread(scores: Tensor) -> float:
        """The most that scores at one distance differ among themselves."""
        return max(scores.diagonal(distance).std(correction=0).item() for distance in range(11))

    assert spread(queries @ keys.T) < 1e-12
    assert spread((queries @ query_projection) @ (keys @ key_projection).T) > 0.1


def test_deep_learning_heads_one_by_one_and_in_one_product() -> None:
    """The notes build one module per head and join the results; outputs before t do not depend on tokens from t on."""
    n_heads, head_dim = 3, 4
    layer = randomise(
        MultiHeadAttention(12, n_heads, pattern=CausalPattern(), rotation=NoPositions(), kernel=fused_attention)
    )
    hidden, mask = torch.randn(2, 5, 12), right_padded([5, 5])
    query_weight, key_weight, value_weight = layer.in_projection.weight.view(3, n_heads, head_dim, 12)
    tril = torch.ones(5, 5).tril()

    heads = []
    for head in range(n_heads):
        query, key, value = (hidden @ part[head].T for part in (query_weight, key_weight, value_weight))
        scores = (query @ key.mT / math.sqrt(head_dim)).masked_fill(tril == 0, -math.inf)
        heads.append(scores.softmax(-1) @ value)
    output = layer(hidden, mask)

    torch.testing.assert_close(output, torch.cat(heads, -1) @ layer.out_projection.weight.T, rtol=1e-5, atol=2e-6)
    changed = hidden.clone()
    changed[:, 3:] = 0
    assert torch.equal(layer(changed, mask)[:, :3], output[:, :3])
    assert not torch.equal(layer(changed, mask)[:, 3:], output[:, 3:])
