"""The parts of the page of a trace, and what its steps are called there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from glassformer.tracing.trace import Matrix

BLOCKS = "blocks."
"""How the names of steps in blocks begin. The number of the block follows."""
STAGES: Mapping[str, str] = {
    "words": "Words become vectors",
    "block": "Block",
    "forwards": "Read from the first token to the last",
    "backwards": "Read from the last token to the first",
    "text": "Vectors become logits",
    "counting": "The counting reader",
    "answer": "The answer",
}
"""The parts of a page in their order, and their headings."""
_OF_MANY_STEPS: Mapping[str, str] = {
    "blocks": "block", "forwards": "forwards", "backwards": "backwards", "counting": "counting"
}  # fmt: skip
_ANSWER = ("transformer.weighted", "sum", "calibrated", "probabilities", "in_unit", "number")
_WORDS = (
    "token_ids", "embedding", "word_emb", "one_hot", "one_hot_columns", "positions", "positions.output",
    "embedding_norm.output", "rotation", "positioned", "words",
)  # fmt: skip
_TITLES: Mapping[str, str] = {
    "token_ids": "Token ids",
    "embedding": "Embeddings",
    "positions": "With positions",
    "positions.output": "With positions",
    "attention_pre_norm.output": "Normalised for attention",
    "attention.in_projection": "Queries, keys and values of all heads",
    "attention.query": "Queries",
    "attention.key": "Keys",
    "attention.value": "Values",
    "attention.scores": "Scores",
    "attention.weights": "Attention weights",
    "attention.heads": "Weighted values",
    "attention.joined": "The heads side by side",
    "attention.output": "What attention gives",
    "after_attention": "Added to the input of the block",
    "attention_post_norm.output": "Normalised",
    "feed_forward_pre_norm.output": "Normalised for the feed-forward",
    "feed_forward.in_projection": "Inside the feed-forward",
    "feed_forward.activation": "After the activation",
    "feed_forward.product": "Gate times value",
    "feed_forward.output": "What the feed-forward gives",
    "after_feed_forward": "Added: the output of the block",
    "feed_forward_post_norm.output": "Normalised: the output of the block",
    "norm.output": "The last norm",
    "embedding_norm.output": "Normalised embeddings",
    "hidden": "The last hidden states",
    "pooling.scores": "Scores of the pooling",
    "pooling.weights": "Weights of the pooling",
    "pooled": "The vector of the text",
    "head.in_projection": "Inside the head",
    "rotation": "Rotated by their positions",
    "norm1.output": "Normalised",
    "gate": "The gate, before its sigmoid",
    "activation": "The gate",
    "value": "The values of the feed-forward",
    "product": "Gate times value",
    "out": "What the feed-forward gives",
    "norm2.output": "Normalised: the output of the block",
    "classifier": "Logits of all classes",
    "word_emb": "Embeddings",
    "scores": "Scores",
    "weights": "Attention weights",
    "attention": "Weighted words",
    "flattened": "The words one after the other",
    "fc": "The linear layer",
    "positioned": "With positions",
    "layernorm1": "Normalised for attention",
    "joined": "The heads side by side",
    "projection.0": "What attention gives",
    "layernorm2": "Normalised for the feed-forward",
    "feedforward.0": "Inside the feed-forward",
    "feedforward.1": "After the activation",
    "feedforward.2": "What the feed-forward gives",
    "final_layernorm": "The last norm",
    "final_linear": "Logits of each token",
    "one_hot": "One-hot words",
    "one_hot_columns": "The words as columns",
    "words": "With positions",
    "attended_and_words": "Attention beside the words",
    "norm_sum": "Times Γ₁, plus β₁",
    "normed": "The “normalisation”",
    "over_positions": "Inside the feed-forward, over positions",
    "fed_and_normed": "The feed-forward above the rows",
    "rows_sum": "Times Γ₂, plus β₂",
    "rows": "Softmax of each row",
    "row": "The rows weighted and added",
    "queries": "Queries",
    "keys": "Keys",
    "values": "Values",
    "attended": "What attention gives",
    "mixed": "Weighted values",
    "rectified": "After the ReLU",
    "residual": "The words, projected",
    "standardised": "z-scores",
    "feed_forward": "Inside the feed-forward",
    "feed_residual": "The input of the feed-forward, projected",
    "feed_standardised": "z-scores",
    "column": "Times Γ₂, plus β₂",
    "between_texts.projected": "Queries, keys and values of all heads",
    "between_texts.query": "Queries",
    "between_texts.key": "Keys",
    "between_texts.value": "Values",
    "between_texts.scores": "Scores of the texts of the batch",
    "between_texts.weights": "Attention weights of the texts of the batch",
    "between_texts.heads": "Weighted values",
    "between_texts.joined": "The heads side by side",
    "between_texts.output": "What attention gives",
    "layernorm_1": "Normalised",
    "ffn": "What the feed-forward gives",
    "layernorm_2": "Normalised",
    "average": "Mean over the tokens",
    "from_word": "The part of the word",
    "before": "The state before",
    "from_state": "The part of the state before",
    "gates_from_word": "The word’s part in the gates",
    "gates_from_state": "The part of the state before in the gates",
    "candidate_from_word": "The word’s part in the candidate",
    "reset_gate": "Reset gate: how much of the state before is read",
    "update_gate": "Update gate: how much of the state before is kept",
    "reset_state": "The part of the state before, times the reset gate",
    "both_parts": "Both parts added",
    "candidate_parts": "Both parts of the candidate added",
    "candidate": "The candidate: what could be remembered",
    "new_share": "How much of the candidate is taken",
    "input_gate": "Input gate: how much of the candidate is taken",
    "forget_gate": "Forget gate: how much of the memory is kept",
    "output_gate": "Output gate: how much of the memory is shown",
    "memory_before": "The memory before",
    "memory": "The memory",
    "squashed_memory": "The memory between −1 and 1",
    "state": "The state after each token",
    "last_state": "The last state",
    "last_states": "The last states side by side",
    "head.activation": "After the activation",
    "head.norm": "Normalised",
    "logits": "Logits",
    "counting.ngrams": "What each n-gram adds",
    "counting.logits": "Logits of counting",
    "counting.weighted": "Counting, times its weight",
    "transformer.weighted": "Transformer, times its weight",
    "sum": "Both readers together",
    "calibrated": "Divided by the temperature",
    "probabilities": "Probabilities",
    "head.score": "The score of the text",
    "in_unit": "In the unit of the number",
    "base": "The number from which answers start",
    "number": "The number",
}


def stages_of(matrices: Iterable[Matrix]) -> list[str]:
    """Return the part of the page for each matrix. A weight stands before the first matrix that needs it."""
    found: list[str] = []
    waiting = 0
    for matrix in matrices:
        if matrix.step.operation == "weight":
            waiting += 1
            continue
        name = matrix.step.name
        stage = "answer" if name in _ANSWER else _OF_MANY_STEPS.get(name.partition(".")[0], "")
        if not stage:
            stage = "words" if name in _WORDS else "text"
        found += [stage] * (1 + waiting)
        waiting = 0
    return found


def title_of(name: str) -> str:
    """Return the name of a step in words. Some designs have a step for each head or direction."""
    if not name.startswith("heads."):
        direction, _, short = name.partition(".")
        return _TITLES.get(short if direction in ("forwards", "backwards") else name, name)
    _, head, *rest = name.split(".")
    of_head = {"query": "queries", "key": "keys", "value": "values", "scores": "scores", "weights": "attention weights"}
    return f"Head {int(head) + 1}: {of_head.get('.'.join(rest), 'weighted values')}"
