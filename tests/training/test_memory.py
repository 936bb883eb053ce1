import sys

import pytest
import torch

from glassformer.training.memory import is_out_of_memory, keep_large_buffers


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (MemoryError(), True),
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
            True,
        ),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
    ids=["cuda", "python", "cpu", "another mistake"],
)
def test_tells_memory_from_mistakes(error: BaseException, expected: bool) -> None:
    assert is_out_of_memory(error) is expected


def test_what_torch_says_when_it_cannot_allocate() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("ctypes.CDLL", lambda _: pytest.fail("the C library was asked"))
    keep_large_buffers()
