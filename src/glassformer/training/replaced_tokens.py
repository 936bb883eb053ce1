"""The task of a detector: to find the tokens that a generator has filled into a text."""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.models.replaced_tokens import ReplacedTokens
from glassformer.training.language_modelling import IGNORED, LanguageModelling, mask_and_places
from glassformer.training.task import Cost, Examples

_DETECTION = 50.0  # weight of the detector's loss beside the generator's (Clark et al. 2020, §2)


class FindingReplacedTokens(LanguageModelling):
    """Packed documents with gaps that a generator fills. The loss is the generator's and 50 times the detector's."""

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        filled, found, _ = _losses(model, examples)
        return Cost((filled.mean() + _DETECTION * found.mean()) * self.weight(examples))

    @torch.inference_mode()
    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return the losses of detector and generator in nats, for each token and gap, and the share of right answers.

        The generator draws the same tokens each time.
        """
        if self.validation is None:
            return {}
        was_training, device = model.training, next(model.parameters()).device
        model.eval()
        losses: list[list[Tensor]] = [[], [], []]
        with torch.random.fork_rng(devices=[] if device.type == "cpu" else [device]):
            torch.manual_seed(self.config.seed)
            for examples in self._held_out(self.validation):
                for kept, new in zip(losses, _losses(model, examples.to(device)), strict=True):
                    kept.append(new.cpu())
        model.train(was_training)
        filled, found, right = (float(torch.cat(each).mean()) for each in losses)
        return {"validation_loss": found, "validation_generator_loss": filled, "validation_detected": right}


def _losses(model: nn.Module, examples: Examples) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss of each gap, that of the detector for each token, and whether its answer is right."""
    shown, attention_mask = examples.inputs
    token_ids = torch.where(examples.labels == IGNORED, shown, examples.labels)
    found = cast(ReplacedTokens, model)(token_ids, shown, *mask_and_places(token_ids, attention_mask))
    logits, replaced = found.logits[attention_mask], found.replaced[attention_mask]
    return (
        found.surprise,
        F.binary_cross_entropy_with_logits(logits, replaced.float(), reduction="none"),
        ((logits > 0) == replaced).float(),
    )
