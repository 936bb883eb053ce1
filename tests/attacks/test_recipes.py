"""Settings that no machine can hold, and values that are no settings."""

from pathlib import Path

import pytest

from tests.attacks.answer import answered
from tests.cli.conftest import Trained
from tests.cli.terminal import glassformer


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        pytest.param("training.no_such_thing=1", ("training.no_such_thing",), id="unknown-name"),
        pytest.param("model.d_model=wide", ("model.d_model",), id="text-for-a-number"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(
    setting: str, words: tuple[str, ...], reviews: Trained, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    answered(glassformer("train", reviews.table, "--out", out, "--set", setting), *words)
    assert not out.exists()
