"""`vinh-recurrent`: the recurrent classifiers that "Transformer for Text Classification" moves on from.

Embeddings → RNN, GRU or LSTM, in one direction or both → the state after the last word → one linear layer.

The slides show drawings without code; this is the usual form. Rows are packed, and padding is never read. With two
directions, the two last states are concatenated.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from glassformer.layers.taps import Tap
from glassformer.models.model_config import DesignConfig, Width, Window
from glassformer.models.parts import Parts

Row = Float[Tensor, "batch 1 hidden"]
Gates = Float[Tensor, "batch 1 of_all_gates"]


class RecurrentSteps(nn.Module):
    """Reads in one direction, token by token, in plain matrix products.

    torch's cells do not show their gates. If a tap listens, a text is read here, with the weights of torch's cell. The
    answer is the same up to rounding. A tap inside the loop gets a row (batch, 1, width) for each token.

    A subclass says how a state follows from the last one.

    Args:
        backwards: read from the last token to the first. What the taps show follows this order.
    """

    def __init__(self, *, backwards: bool = False) -> None:
        super().__init__()
        self.backwards = backwards
        self.tap_embedding, self.tap_from_word = Tap(), Tap()
        self.tap_before, self.tap_from_state, self.tap_state = Tap(), Tap(), Tap()

    @property
    def heard(self) -> bool:
        return any(isinstance(tap, Tap) and tap.heard for tap in self.children())

    def forward(
        self, cell: nn.RNNBase, embedded: Float[Tensor, "batch seq embed"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch hidden"]:
        """Return the state after the last token that the mask allows."""
        suffix = "l0_reverse" if self.backwards else "l0"
        of_word = (cell.get_parameter(f"{kind}_ih_{suffix}") for kind in ("weight", "bias"))
        weight, bias = (cell.get_parameter(f"{kind}_hh_{suffix}") for kind in ("weight", "bias"))
        if self.backwards:
            embedded, attention_mask = embedded.flip(1), attention_mask.flip(1)
        from_words = self.tap_from_word(F.linear(self.tap_embedding(embedded), *of_word))
        state, memory = (embedded.new_zeros(len(embedded), 1, cell.hidden_size) for _ in range(2))
        for place, from_word in enumerate(from_words.split(1, dim=1)):
            before = self.tap_before(state)
            from_state = self.tap_from_state(F.linear(before, weight, bias))
            next_state, next_memory = self.step(from_word, from_state, before, memory)
            read = attention_mask[:, place, None, None]  # padding leaves both as they are
            state, memory = self.tap_state(torch.where(read, next_state, before)), next_memory.where(read, memory)
        return state.squeeze(1)

    def step(self, from_word: Gates, from_state: Gates, before: Row, memory: Row) -> tuple[Row, Row]:
        """Return the next state and the next memory. Only an LSTM has a memory."""
        raise NotImplementedError


class RNNSteps(RecurrentSteps):
    """h = tanh(W x + b + U h′ + c), with the state h′ before (Elman 1990)."""

    def __init__(self, *, backwards: bool = False) -> None:
        super().__init__(backwards=backwards)
        self.tap_both_parts = Tap()

    def step(self, from_word: Gates, from_state: Gates, before: Row, memory: Row) -> tuple[Row, Row]:  # noqa: ARG002
        return self.tap_both_parts(from_word + from_state).tanh(), memory


class GRUSteps(RecurrentSteps):
    """h = (1 − z) ⊗ n + z ⊗ h′ with the update gate z and the candidate n (Cho et al. 2014, in torch's form)."""

    def __init__(self, *, backwards: bool = False) -> None:
        super().__init__(backwards=backwards)
        self.tap_both_parts, self.tap_reset_gate, self.tap_update_gate = Tap(), Tap(), Tap()
        self.tap_reset_state, self.tap_candidate_parts = Tap(), Tap()
        self.tap_candidate, self.tap_new_share = Tap(), Tap()

    def step(self, from_word: Gates, from_state: Gates, before: Row, memory: Row) -> tuple[Row, Row]:
        gates = 2 * before.shape[-1]  # the columns of the two gates; those of the candidate follow
        reset, update = self.tap_both_parts(from_word[..., :gates] + from_state[..., :gates]).sigmoid().chunk(2, dim=-1)
        reset_state = self.tap_reset_state(self.tap_reset_gate(reset) * from_state[..., gates:])
        candidate = self.tap_candidate(self.tap_candidate_parts(from_word[..., gates:] + reset_state).tanh())
        update = self.tap_update_gate(update)
        return self.tap_new_share(1 - update) * candidate + update * before, memory


class LSTMSteps(RecurrentSteps):
    """c = f ⊗ c′ + i ⊗ g, h = o ⊗ tanh(c), with gates f, i and o (Hochreiter & Schmidhuber 1997; Gers et al. 2000)."""

    def __init__(self, *, backwards: bool = False) -> None:
        super().__init__(backwards=backwards)
        self.tap_both_parts, self.tap_input_gate, self.tap_forget_gate = Tap(), Tap(), Tap()
        self.tap_candidate, self.tap_output_gate = Tap(), Tap()
        self.tap_memory_before, self.tap_memory, self.tap_squashed_memory = Tap(), Tap(), Tap()

    def step(self, from_word: Gates, from_state: Gates, before: Row, memory: Row) -> tuple[Row, Row]:  # noqa: ARG002
        of_input, of_forget, of_candidate, of_output = self.tap_both_parts(from_word + from_state).chunk(4, dim=-1)
        added = self.tap_input_gate(of_input.sigmoid()) * self.tap_candidate(of_candidate.tanh())
        kept = self.tap_forget_gate(of_forget.sigmoid()) * self.tap_memory_before(memory)
        memory = self.tap_memory(kept + added)
        return self.tap_output_gate(of_output.sigmoid()) * self.tap_squashed_memory(memory.tanh()), memory


STEPS: dict[str, type[RecurrentSteps]] = {"rnn": RNNSteps, "gru": GRUSteps, "lstm": LSTMSteps}
"""The readers by the name of the cell."""
_CELLS: dict[str, type[nn.RNN | nn.GRU | nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class VinhRecurrentConfig(DesignConfig):
    design: Literal["vinh-recurrent"] = "vinh-recurrent"
    max_seq_len: Window = 201
    cell: Literal["rnn", "gru", "lstm"] = "lstm"
    directions: Literal["forward", "both"] = "forward"
    embed_dim: Width = 32
    hidden: Width = 64
    """Width of the state in each direction."""

    def in_words(self) -> str:
        both = ", both directions" if self.directions == "both" else ""
        return f"{self.cell.upper()} of width {self.hidden}{both}"


class VinhRecurrent(nn.Module):
    """embed → read word by word → last state → linear."""

    def __init__(self, config: VinhRecurrentConfig, vocab_size: int, n_classes: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, config.embed_dim)
        self.cell = _CELLS[config.cell](
            config.embed_dim, config.hidden, batch_first=True, bidirectional=config.directions == "both"
        )
        both = config.directions == "both"
        self.fc = nn.Linear(config.hidden * (2 if both else 1), n_classes)
        self.forwards = STEPS[config.cell]()
        self.backwards = STEPS[config.cell](backwards=True) if both else None

    def forward(
        self, token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
    ) -> Float[Tensor, "batch n_classes"]:
        embedded = self.embedding(token_ids)
        readers = [reader for reader in (self.forwards, self.backwards) if reader is not None]
        if any(reader.heard for reader in readers):
            return self.fc(torch.cat([reader(self.cell, embedded, attention_mask) for reader in readers], dim=-1))
        lengths = attention_mask.sum(1).cpu()
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        _, state = self.cell(packed)
        last = state[0] if isinstance(state, tuple) else state  # (directions, batch, hidden); an LSTM adds its memory
        return self.fc(torch.cat(list(last), dim=-1))

    def parts(self) -> Parts:
        return Parts(embedding=(self.embedding,), head=(self.fc,))
