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


@pytest.mark.parametrize("name", ["cuda:99", "gpu", "cpu:x", ""])
def test_a_device_that_is_not_there(name: str) -> None:
    with pytest.raises(UsageError, match=f"--device {name}: not available here") as caught:
        choose_device(name)
    assert "\n" not in str(caught.value)
