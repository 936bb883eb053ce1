"""The steps of the recurrent classifiers. Each matrix has a row for each token; a row comes from the row before it."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from glassformer.models.published.vinh_recurrent import GRUSteps, LSTMSteps, RecurrentSteps, VinhRecurrent
from glassformer.tracing.layers import Steps
from glassformer.tracing.steps import BACKWARDS, CLASSES, FEATURES, HIDDEN, IN, OUT, TOKENS

_SIGMOID, _TANH = nn.functional.sigmoid, nn.functional.tanh


def vinh_recurrent(steps: Steps, model: VinhRecurrent) -> None:
    """Embed → read token by token, in one direction or both → the last states side by side → linear."""
    x = steps.embedding(model.embedding)
    last = [
        _Reading(steps, model, reader, x).last_state()
        for reader in (model.forwards, model.backwards)
        if reader is not None
    ]
    pooled = last[0] if len(last) == 1 else steps.add("beside", "last_states", tuple(last), (HIDDEN,))
    steps.add("same", "logits", (steps.linear(model.fc, pooled, axes=(CLASSES,)),), (CLASSES,))


class _Reading:
    """The steps of one direction."""

    def __init__(self, steps: Steps, model: VinhRecurrent, reader: RecurrentSteps, embedding: str) -> None:
        self.steps, self.cell, self.reader = steps, model.cell, reader
        self.at, self.width = steps.paths[reader], model.cell.hidden_size
        self.tokens = BACKWARDS if reader.backwards else TOKENS
        self.embedding = embedding

    def last_state(self) -> str:
        x = self.embedding
        if self.reader.backwards:
            x = self.steps.add("reversed", f"{self.at}.embedding", (x,), (self.tokens, FEATURES))
        from_word = self._linear("from_word", x, "ih")
        before = self._add("previous", "before", f"{self.at}.state")
        from_state = self._linear("from_state", before, "hh")
        if isinstance(self.reader, LSTMSteps):
            self._lstm(from_word, from_state)
        elif isinstance(self.reader, GRUSteps):
            self._gru(from_word, from_state, before)
        else:
            self._gate("state", self._add("add", "both_parts", from_word, from_state), _TANH, 0)
        return self.steps.add("pick", f"{self.at}.last_state", (f"{self.at}.state",), (HIDDEN,), row="last")

    def _lstm(self, from_word: str, from_state: str) -> None:
        gates = self._add("add", "both_parts", from_word, from_state)
        input_gate = self._gate("input_gate", gates, _SIGMOID, 0)
        forget_gate = self._gate("forget_gate", gates, _SIGMOID, 1)
        candidate = self._gate("candidate", gates, _TANH, 2)
        output_gate = self._gate("output_gate", gates, _SIGMOID, 3)
        before = self._add("previous", "memory_before", f"{self.at}.memory")
        memory = self._add("two-products", "memory", forget_gate, before, input_gate, candidate)
        squashed = self._gate("squashed_memory", memory, _TANH, 0)
        self._add("product", "state", output_gate, squashed)

    def _gru(self, from_word: str, from_state: str, before: str) -> None:
        of_word = self._columns("gates_from_word", from_word, 0, 2)
        of_state = self._columns("gates_from_state", from_state, 0, 2)
        gates = self._add("add", "both_parts", of_word, of_state)
        reset = self._gate("reset_gate", gates, _SIGMOID, 0)
        update = self._gate("update_gate", gates, _SIGMOID, 1)
        reset_state = self._add("gate", "reset_state", reset, from_state)
        of_word = self._columns("candidate_from_word", from_word, 2, 1)
        candidate = self._gate("candidate", self._add("add", "candidate_parts", of_word, reset_state), _TANH, 0)
        new_share = self._add("complement", "new_share", update)
        self._add("two-products", "state", new_share, candidate, update, before)

    def _add(self, operation: str, name: str, *inputs: str) -> str:
        return self.steps.add(operation, f"{self.at}.{name}", inputs, (self.tokens, HIDDEN))

    def _linear(self, name: str, x: str, side: str) -> str:
        suffix = "l0_reverse" if self.reader.backwards else "l0"
        weight = self.steps.weight(self.cell, f"weight_{side}_{suffix}", (OUT, IN))
        bias = self.steps.weight(self.cell, f"bias_{side}_{suffix}", (OUT,))
        return self._add("linear-with-bias", name, x, weight, bias)

    def _gate(self, name: str, x: str, function: Callable[[Tensor], Tensor], part: int) -> str:
        """Apply a function to one of the parts of x, each as wide as the state."""
        axes = (self.tokens, HIDDEN)
        return self.steps.activation(
            function, f"{self.at}.{name}", x, axes, columns=self.width, skipped=part * self.width
        )

    def _columns(self, name: str, x: str, skipped: int, parts: int) -> str:
        axes, width = (self.tokens, HIDDEN), self.width
        return self.steps.add(
            "columns", f"{self.at}.{name}", (x,), axes, columns=parts * width, skipped=skipped * width
        )
