"""How the checkpoints of each family name their settings and tensors: a table per family, in `families.toml`.

The names are those of the `transformers` library. `checkpoints.py` reads by these tables, `checkpoints_out.py` writes
by them.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

Sources = Mapping[str, Sequence[str]]
"""Our module → their modules. If they have several, the rows of their weights are concatenated."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """How to read and write one family.

    Attributes:
        also: other model types with the same settings and tensors.
        since: the first version of `transformers` that has the family.
        classifier: the class of its text classifiers, as `architectures` names it.
        prefix: how the names of the encoder's tensors begin in checkpoints that have a head.
        fixed: our fields with the same value in all checkpoints of the family.
        parts, block, head: where to find the weights of our modules; `{n}` is the number of the block. The names in
            `parts` and `block` have no prefix, those in `head` are complete.
        poolings: their name → ours.
        local_attention: whether tokens of some blocks attend only to near tokens.
        added_to_positions: a table whose first row means "the first of two texts" and is added to every token.
        padding_before_positions: whether the position table has unused rows at its start, up to the id of padding.
        written: further settings of the checkpoints that we write.
        special_tokens: padding, unknown, start and end; used if the tokenizer's settings do not name them.
    """

    title: str
    classifier: str
    prefix: str
    settings: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any]
    parts: Sources
    block: Sources
    head: Sources
    also: Sequence[str] = ()
    since: str = "4.0"
    poolings: Mapping[str, str] = field(default_factory=lambda: {"cls": "first", "mean": "mean"})
    local_attention: bool = False
    added_to_positions: str | None = None
    padding_before_positions: bool = False
    written: Mapping[str, Any] = field(default_factory=dict)
    special_tokens: Sequence[str] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")

    def first_position(self, raw: Mapping[str, Any]) -> int:
        """Return the row of the position table that belongs to the first token of a text."""
        return raw.get("pad_token_id", 1) + 1 if self.padding_before_positions else 0

    def sources(self, n_layers: int) -> Sources:
        """Return for each module of our encoder, without the head, their modules, without the prefix."""
        blocks = {
            f"blocks.{n}.{ours}": [source.format(n=n) for source in theirs]
            for n in range(n_layers)
            for ours, theirs in self.block.items()
        }
        return {**self.parts, **blocks}

    def plain_name(self, name: str) -> str:
        """Remove the encoder's prefix and use today's names: old checkpoints call a norm's weights gamma and beta."""
        name = name.removeprefix(self.prefix)
        for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
            if name.endswith(old):
                return name.removesuffix(old) + new
        return name


def _families() -> dict[str, Family]:
    tables = tomllib.loads(files(__package__).joinpath("families.toml").read_text(encoding="utf-8"))
    return {name: Family(**tables.get(table.pop("like", None), {}) | table) for name, table in tables.items()}


FAMILIES = _families()
"""The supported families by the `model_type` of their config.json."""
MODEL_TYPES = FAMILIES | {other: family for family in FAMILIES.values() for other in family.also}
"""The same with the other model types of each."""
