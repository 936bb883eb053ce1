"""The linear layer, with the product of matrices that is the fastest on this processor."""

import platform
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

_IMAGES = 16  # torch computes convolutions of fewer images as `F.linear`, if it has one thread
_SMALL = 2**22  # products of fewer multiplications are as fast by `F.linear`


class Linear(nn.Linear):
    """y = x Wᵀ + b, by `fastest_linear`."""

    def forward(self, hidden: Float[Tensor, "*axes d_in"]) -> Float[Tensor, "*axes d_out"]:
        return fastest_linear(hidden, self.weight, self.bias)


def fastest_linear(
    hidden: Float[Tensor, "*axes d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*axes d_out"]:
    """Compute `F.linear`, or the same as a convolution where that is faster.

    torch gives products in float32 to MKL, which uses AVX-512 on Intel's processors only, and convolutions to oneDNN,
    which uses it on all. On AMD's processors with AVX-512 large products are up to twice as fast by oneDNN.
    """
    by_convolution = (
        hidden.numel() * len(weight) >= _SMALL
        and hidden.device.type == "cpu"
        and hidden.dtype == weight.dtype == torch.float32
        and not torch.compiler.is_compiling()  # what is exported has products
        and not torch.is_autocast_enabled("cpu")
        and _mkl_lacks_avx512()
    )
    return linear_as_convolution(hidden, weight, bias) if by_convolution else F.linear(hidden, weight, bias)


def linear_as_convolution(
    hidden: Float[Tensor, "*axes d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*axes d_out"]:
    """Compute `F.linear` as a convolution of images of one row with a filter of one pixel: a pixel is a vector."""
    rows = hidden.reshape(-1, hidden.shape[-1])
    if missing := -len(rows) % _IMAGES:
        rows = F.pad(rows, (0, 0, 0, missing))
    images = rows.reshape(_IMAGES, -1, 1, rows.shape[-1]).permute(0, 3, 1, 2)  # channels first, in the same memory
    pixels = F.conv2d(images, weight[:, :, None, None], bias).permute(0, 2, 3, 1).flatten(0, 2)
    return pixels[: hidden.shape[:-1].numel()].view(*hidden.shape[:-1], len(weight))


@cache
def _mkl_lacks_avx512() -> bool:
    """Whether torch has both libraries, and this is a processor of AMD with AVX-512."""
    both = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    if not both or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            about = file.read(1024)  # its first lines name the maker
    except OSError:  # not Linux
        about = platform.processor()
    return "AuthenticAMD" in about
