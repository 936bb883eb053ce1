"""Positions: they tell a model where each token stands.

`SinusoidalPositions` and `LearnedPositions` add a vector to each embedding. `Rotary` rotates pairs of features by an
angle that grows with the position. Applied to queries and keys, it makes their product depend on their distance alone.

All are called as layer(features, positions). If `positions` is None, they are 0, 1, 2 … in every row. Pass positions
if a row holds several documents, or if it continues tokens that were read before.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from glassformer.layers.slots import PositionLayer, Positions


def inverse_frequencies(dim: int, base: float) -> Float[Tensor, " half"]:
    """Return ω_i = base^(−2i/dim) for i = 0 … ⌈dim/2⌉ − 1 (Vaswani et al. 2017, §3.5), in float64."""
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)


def sinusoidal_table(length: int, d_model: int, base: float = 10_000.0) -> Float[Tensor, "length d_model"]:
    """Return P(t, 2i) = sin(t·ω_i), P(t, 2i+1) = cos(t·ω_i) (Vaswani et al. 2017, §3.5). Odd widths end on a sine."""
    angles = torch.arange(length, dtype=torch.float64)[:, None] * inverse_frequencies(d_model, base)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # (length, half, 2) → (length, 2·half)
    return table[:, :d_model].to(torch.get_default_dtype())


class NoPositions(PositionLayer):
    """Returns its input."""

    def forward(self, features: Float[Tensor, "*heads seq dim"], _positions: Positions = None) -> Tensor:
        return features


class SinusoidalPositions(PositionLayer):
    """Adds fixed waves of falling frequency (Vaswani et al. 2017, §3.5). P(t+k) is P(t) rotated by k·ω.

    Args:
        scale: amplitude of the waves. The paper uses 1, with embeddings multiplied by √d_model to a variance of about
            1 (§3.4). Smaller embeddings need smaller waves; otherwise positions hide the words.
    """

    table: Tensor

    def __init__(self, max_seq_len: int, d_model: int, *, base: float = 10_000.0, scale: float = 1.0) -> None:
        super().__init__()
        self.register_buffer("table", scale * sinusoidal_table(max_seq_len, d_model, base), persistent=False)

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], positions: Positions = None
    ) -> Float[Tensor, "batch seq d_model"]:
        return hidden + _rows(self.table, hidden, positions)


class LearnedPositions(PositionLayer):
    """Adds a learned vector to each position (Devlin et al. 2019, §3). There are `max_seq_len` positions."""

    def __init__(self, max_seq_len: int, d_model: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_seq_len, d_model).normal_(std=std))

    def forward(
        self, hidden: Float[Tensor, "batch seq d_model"], positions: Positions = None
    ) -> Float[Tensor, "batch seq d_model"]:
        return hidden + _rows(self.weight, hidden, positions)


class Rotary(PositionLayer):
    """Rotates the feature pair (x_i, x_{i+dim/2}) at position t by the angle t·ω_i (Su et al. 2021, eq. 34).

    It works on any tensor whose last two axes are (seq, dim):
    - on queries and keys (batch, heads, seq, head_dim), ⟨R_m q, R_n k⟩ depends on m − n alone;
    - on embeddings (batch, seq, d_model), a later projection destroys that property.

    The paper pairs neighbouring features. Here, as in GPT-NeoX and ModernBERT, a feature of the first half of the
    vector is paired with one of the second half. Both are the same up to a fixed permutation of features.

    Raises:
        ValueError: dim is odd.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, max_seq_len: int, dim: int, *, base: float = 10_000.0) -> None:
        super().__init__()
        if dim % 2:
            raise ValueError(f"rotary positions rotate pairs of features and need an even width, got {dim}")
        angles = torch.arange(max_seq_len, dtype=torch.float64)[:, None] * inverse_frequencies(dim, base)
        self.register_buffer("cos", angles.cos().to(torch.get_default_dtype()), persistent=False)
        self.register_buffer("sin", angles.sin().to(torch.get_default_dtype()), persistent=False)

    def forward(
        self, features: Float[Tensor, "*heads seq dim"], positions: Positions = None
    ) -> Float[Tensor, "*heads seq dim"]:
        cos = _rows(self.cos, features, positions).to(features.dtype)
        sin = _rows(self.sin, features, positions).to(features.dtype)
        half = features.shape[-1] // 2
        swapped = features.roll(half, dims=-1)  # the second half, then the first
        return features * torch.cat([cos, cos], dim=-1) + swapped * torch.cat([-sin, sin], dim=-1)


def _rows(table: Tensor, features: Tensor, positions: Positions) -> Tensor:
    """Return the rows of `table` for these positions, with axes of 1 if `features` have heads: (batch, 1, seq, …)."""
    if positions is None:
        return table[: features.shape[-2]]
    return table[positions].unflatten(0, (len(positions), *[1] * (features.ndim - 3)))
