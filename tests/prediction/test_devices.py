import pytest
import torch

from glassformer.errors import UsageError
from glassformer.prediction.devices import choose_device


def test_auto_takes_cuda_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, expected in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert choose_device("auto") == expected


def test_a_device_by_name() -> None:
    assert choose_device("cpu") == "cpu"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cuda:99", "not available here; use cpu or auto"),
        ("gpu", "no such device; there are auto, cpu, cuda"),
        ("cpu:x", "no such device"),
        ("", "no such device"),
    ],
)
def test_a_device_that_is_not_there(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=f"`device={name!r}`: {words}") as caught:
        choose_device(name)
    assert "\n" not in str(caught.value)
