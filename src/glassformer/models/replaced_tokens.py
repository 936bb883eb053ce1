"""Two models that learn together: one puts other tokens into a text, the other one finds them (ELECTRA)."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from glassformer.layers.slots import AttentionMask, Positions
from glassformer.models.bricks import build_block, build_last_norm, initialise
from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.parts import Parts, parts_of

_NARROWER = 4  # Clark et al. (2020), §3.2: a generator of 1/4 to 1/2 of the width is the best
_GAPS_AT_ONCE = 64


class Found(NamedTuple):
    """What both models say of texts.

    Attributes:
        surprise: the generator's −ln p of the tokens that stood in the gaps, (gaps,).
        replaced: whether a token is another one than in the text, (batch, seq).
        logits: the detector's log odds that a token is another one, (batch, seq).
    """

    surprise: Float[Tensor, " gaps"]
    replaced: Bool[Tensor, "batch seq"]
    logits: Float[Tensor, "batch seq"]


class ReplacedTokens(nn.Module):
    """A generator fills gaps in a text with tokens that it draws; a detector says of each token if it is another one.

    Clark et al. (2020), §2. The generator has the same depth and a quarter of the width. Both read the same embeddings.
    The detector is the trunk of a language model: what is kept in the end.
    """

    def __init__(self, config: LanguageModelConfig, vocab_size: int) -> None:
        super().__init__()
        heads = max(1, config.n_heads // _NARROWER)
        wide = heads * (config.d_model // config.n_heads)  # heads stay as wide, so that positions rotate them alike
        narrow = config.model_copy(
            update={"d_model": wide, "n_heads": heads, "d_ff": max(1, config.d_ff // _NARROWER), "dropout": 0.0}
        )
        self.to_narrow, self.to_wide = nn.Linear(config.d_model, wide), nn.Linear(wide, config.d_model)
        self.blocks = nn.ModuleList(build_block(narrow) for _ in range(config.n_layers))
        self.norm = build_last_norm(narrow)
        self.token_bias = nn.Parameter(torch.zeros(vocab_size))
        self.detect = nn.Linear(config.d_model, 1)
        initialise(self)
        self.detector = LanguageModel(config, vocab_size)

    def forward(
        self,
        token_ids: Int[Tensor, "batch seq"],
        shown: Int[Tensor, "batch seq"],
        attention_mask: AttentionMask,
        positions: Positions = None,
    ) -> Found:
        """Fill the gaps of a text, which are where `shown` differs from it, and look for what was filled in."""
        trunk = self.detector.trunk
        vectors = trunk.positions(trunk.embedding(shown), positions)
        hidden = self.to_narrow(vectors).type_as(vectors)  # sums stay in float32
        for block in self.blocks:
            hidden = block(hidden, attention_mask, None)
        gaps = (shown != token_ids).flatten().nonzero().squeeze(1)
        # A multiple of the same number each time: buffers of a new size in each step would fill the memory with gaps.
        several = torch.cat([gaps, gaps.new_zeros(-len(gaps) % _GAPS_AT_ONCE)])
        hidden = self.norm(hidden, attention_mask).flatten(0, 1)[several]
        logits = F.linear(self.to_wide(hidden), trunk.embedding.get_parameter("weight"), self.token_bias)
        text = token_ids.flatten()
        surprise, drawn = guess(logits, text[several])
        read = text.index_copy(0, gaps, drawn[: len(gaps)]).view_as(token_ids)
        found = self.detector.read(read, attention_mask, positions=positions)
        return Found(surprise[: len(gaps)], read != token_ids, self.detect(found).squeeze(-1).float())

    def parts(self) -> Parts:
        detector = parts_of(self.detector)
        return Parts(embedding=detector.embedding, blocks=(*detector.blocks, *self.blocks), norm=detector.norm)


def guess(
    logits: Float[Tensor, "gaps vocab"], labels: Int[Tensor, " gaps"]
) -> tuple[Float[Tensor, " gaps"], Int[Tensor, " gaps"]]:
    """Return the cross entropy of each row in nats, and a token that is drawn by its probabilities."""
    losses, drawn = _Guess.apply(logits, labels)
    return losses, drawn


class _Guess(torch.autograd.Function):
    """Loss, gradient and drawn tokens from one softmax. The matrix is the largest of the step."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        probabilities = logits.softmax(-1, dtype=torch.float32)
        ctx.save_for_backward(probabilities, labels)
        ctx.type = logits.dtype
        sums = probabilities.cumsum(-1)
        chance = torch.rand(len(sums), 1, device=sums.device) * sums[:, -1:]
        drawn = torch.searchsorted(sums, chance).squeeze(-1).clamp_(max=sums.shape[1] - 1)
        ctx.mark_non_differentiable(drawn)
        chosen = probabilities.gather(-1, labels[:, None]).squeeze(-1)
        return -chosen.clamp_min(torch.finfo(torch.float32).tiny).log(), drawn

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _of_drawn: Tensor) -> tuple[Tensor, None]:
        probabilities, labels = ctx.saved_tensors
        of_logits = probabilities.mul(grad[:, None]).to(ctx.type)
        of_logits.scatter_add_(-1, labels[:, None], -grad[:, None].to(ctx.type))
        return of_logits, None
