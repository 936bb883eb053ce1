"""Which number format matrices are multiplied in."""

from __future__ import annotations

import platform

import torch

from glassformer.training.training_config import LoopConfig

_X86 = ("x86_64", "AMD64")


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
