"""Optimizers: AdamW, Muon for matrices inside blocks, and plain SGD; what is trained, how fast, when, how exactly."""

import math
import platform
from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from glassformer.errors import UsageError
from glassformer.models.parts import parts_of
from glassformer.training.training_config import LoopConfig

_X86 = ("x86_64", "AMD64")
_TOGETHER = 2**20  # numbers: more gain nothing, and take memory


def computes_in_bfloat16(config: LoopConfig, device: torch.device) -> bool:
    """Whether matrices are multiplied in bfloat16 on this device."""
    if config.precision != "auto":
        return config.precision == "bfloat16"
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    # On some processors torch comes without oneDNN, and then the function of it does not exist.
    if device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return False
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return False
    # That is also true of AVX-512 alone, which only emulates bfloat16: five times as slow as float32.
    return platform.machine() not in _X86 or (
        torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )


class Muon(torch.optim.Muon):
    """Muon (Jordan et al. 2024). Matrices of one shape are multiplied together, which takes fewer operations.

    torch's own multiplies one by one and in bfloat16, for which a processor without instructions for it takes ten to
    thirty times as long. The momentum is Nesterov's, and a step as long as that of AdamW, whatever `nesterov` and
    `adjust_lr_fn` say.

    Args:
        dtype: the type of the products; None for that of the matrices.
    """

    def __init__(self, params: Any, *, dtype: torch.dtype | None = None, **settings: Any) -> None:
        super().__init__(params, **settings)
        for group in self.param_groups:
            group["dtype"] = dtype

    @torch.no_grad()
    def step(self, _: None = None) -> None:  # type: ignore[override]  # the loop gives no closure
        for group in self.param_groups:
            kinds: dict[tuple[Any, ...], list[Tensor]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    kinds.setdefault((matrix.shape, matrix.device, matrix.dtype), []).append(matrix)
            for alike in kinds.values():
                together = max(1, _TOGETHER // max(1, alike[0].numel()))
                for first in range(0, len(alike), together):
                    self._step(group, alike[first : first + together])

    def _step(self, group: dict[str, Any], matrices: list[Tensor]) -> None:
        for matrix in matrices:
            if not self.state[matrix]:
                self.state[matrix]["momentum_buffer"] = torch.zeros_like(matrix)
        momentum, gradients = group["momentum"], [matrix.grad for matrix in matrices if matrix.grad is not None]
        moved = [self.state[matrix]["momentum_buffer"] for matrix in matrices]
        torch._foreach_lerp_(moved, gradients, 1 - momentum)
        updates = orthogonal(torch.stack(torch._foreach_lerp(gradients, moved, momentum)), group)
        length = 0.2 * math.sqrt(max(matrices[0].shape))  # as "match_rms_adamw"
        torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(matrices, updates.unbind(), alpha=-group["lr"] * length)


def orthogonal(matrices: Tensor, group: dict[str, Any]) -> Tensor:
    """Return U S' Vᵀ of each matrix U S Vᵀ, with all S' near 1, by the Newton–Schulz iteration of a group of Muon.

    Args:
        matrices: (matrices, rows, columns)
    """
    a, b, c = group["ns_coefficients"]
    wide = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mT
    wide = (wide / wide.norm(dim=(1, 2), keepdim=True).clamp(min=group["eps"])).to(group["dtype"] or matrices.dtype)
    for _ in range(group["ns_steps"]):
        gram = wide @ wide.mT
        wide = torch.baddbmm(wide, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return (wide if matrices.shape[1] <= matrices.shape[2] else wide.mT).to(matrices.dtype)


def build_optimizers(model: nn.Module, config: LoopConfig) -> list[torch.optim.Optimizer]:
    """Return one or two optimizers that together hold every trained parameter once.

    Weight decay acts on matrices alone. It would pull a norm's scale or a bias towards a meaningless value (Loshchilov
    & Hutter 2019 for AdamW). Muon (Jordan et al. 2024) makes the update of a matrix orthogonal. Its step is scaled to
    that of AdamW (Liu et al. 2025), so one learning rate serves both.

    Raises:
        UsageError: `layer_decay` is set and the model is not made of blocks.
    """
    trained = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    scales = _scales(model, config.layer_decay)
    in_blocks = {id(p) for block in parts_of(model).blocks for p in block.parameters() if config.optimizer == "muon"}
    matrices = [(name, p) for name, p in trained if id(p) in in_blocks and p.ndim == 2]
    chosen = {name for name, _ in matrices}
    groups = _groups(((name, p) for name, p in trained if name not in chosen), scales, config.weight_decay)
    if config.optimizer == "sgd":
        return [torch.optim.SGD(groups, lr=config.learning_rate)]
    optimizers: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)]
    if matrices:
        in_bfloat16 = computes_in_bfloat16(config, matrices[0][1].device)
        optimizers.append(
            Muon(
                _groups(matrices, scales, config.weight_decay),
                dtype=torch.bfloat16 if in_bfloat16 else None,
                lr=config.learning_rate,
                weight_decay=config.weight_decay,
                adjust_lr_fn="match_rms_adamw",
            )
        )
    return optimizers


def learning_rate(config: LoopConfig, progress: float) -> float:
    """Return the learning rate after the share `progress` (0 … 1) of training: a linear rise, then the schedule.

    Cosine falls to 0 as (1 + cos πx)/2 (Loshchilov & Hutter 2017, eq. 5), linear as 1 − x, constant not at all. By
    epoch it is (1 + cos(π·e/cosine_epochs))/2 over e finished epochs: torch's `CosineAnnealingLR`, stepped each epoch.
    """
    if progress < config.warmup:
        return config.learning_rate * progress / config.warmup
    if config.schedule == "cosine-by-epoch":
        epoch = math.floor(progress * config.epochs)
        return config.learning_rate * (1 + math.cos(math.pi * epoch / config.cosine_epochs)) / 2
    x = (progress - config.warmup) / (1 - config.warmup)
    factor = {"cosine": (1 + math.cos(math.pi * x)) / 2, "linear": 1 - x, "constant": 1.0}[config.schedule]
    return config.learning_rate * factor


def set_learning_rate(optimizers: Iterable[torch.optim.Optimizer], rate: float) -> None:
    """Give every parameter its share of `rate`."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group["scale"]


def freeze(model: nn.Module, lowest: int | Literal["all"]) -> None:
    """Freeze the embeddings and the `lowest` blocks (nothing if it is 0), or with "all" everything but the head.

    Raises:
        UsageError: the model has no blocks, fewer than `lowest`, or no head.
    """
    if lowest == 0:
        return
    if lowest == "all":
        in_head = {id(parameter) for module in parts_of(model).head for parameter in module.parameters()}
        trained = {name for name, parameter in model.named_parameters() if id(parameter) in in_head}
        if not trained:
            raise UsageError("training.freeze = 'all' trains only the head, and this model has no head of its own")
    else:
        depths, n_blocks = _depths(model, f"training.freeze = {lowest}")
        if lowest > n_blocks:
            raise UsageError(
                f"training.freeze = {lowest}, and the model has {n_blocks} blocks; "
                "set it to 'all' to train only the head"
            )
        trained = {name for name, depth in depths.items() if depth > lowest}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(parameter.requires_grad and name in trained)


def _groups(named: Iterable[tuple[str, Tensor]], scales: dict[str, float], weight_decay: float) -> list[dict[str, Any]]:
    """Group parameters by weight decay and share of the learning rate, matrices first."""
    together: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in sorted(named, key=lambda pair: pair[1].ndim < 2):
        key = (weight_decay if parameter.ndim >= 2 else 0.0, scales.get(name, 1.0))
        together.setdefault(key, []).append(parameter)
    return [{"params": params, "weight_decay": decay, "scale": scale} for (decay, scale), params in together.items()]


def _scales(model: nn.Module, layer_decay: float) -> dict[str, float]:
    """Return decay^(depth from the top) for each parameter. Lower layers hold more that is worth keeping.

    Howard & Ruder 2018, §3.2; with embeddings lowest and head on top as in Clark et al. 2020, appendix B.
    """
    if layer_decay == 1:
        return {}
    depths, n_blocks = _depths(model, f"training.layer_decay = {layer_decay}")
    return {name: layer_decay ** (n_blocks + 1 - depth) for name, depth in depths.items()}


def _depths(model: nn.Module, wanted_by: str) -> tuple[dict[str, int], int]:
    """Return the depth of each parameter (0 in the embedding, 1 in the first block …) and the number of blocks.

    Parameters outside the embedding and the blocks count as above the blocks.
    """
    parts = parts_of(model)
    if not parts.blocks:
        raise UsageError(f"{wanted_by} counts blocks, and this model has none")
    depths = {id(parameter): 0 for module in parts.embedding for parameter in module.parameters()}
    for depth, block in enumerate(parts.blocks, 1):
        depths |= {id(parameter): depth for parameter in block.parameters()}
    top = len(parts.blocks) + 1
    return {name: depths.get(id(parameter), top) for name, parameter in model.named_parameters()}, len(parts.blocks)
