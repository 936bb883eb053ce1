from pathlib import Path
from typing import Any

import pytest
from stages import make_once

from glassformer.errors import UsageError


def made(folder: Path, made_of: dict[str, Any]) -> bool:
    """Whether the folder had to be filled."""
    before: list[int] = []

    def make() -> None:
        before.append(1)
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text("{}")

    make_once(folder, made_of, make)
    return bool(before)


def test_what_is_made_of_the_same_is_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    assert made(folder, {"recipe": {"steps": 4, "rate": 0.1}, "texts": "abc"})
    assert not made(folder, {"texts": "abc", "recipe": {"rate": 0.1, "steps": 4}})
    assert made(folder, {"recipe": {"steps": 5, "rate": 0.1}, "texts": "abc"})
    assert made(folder, {"recipe": {"steps": 5, "rate": 0.1}, "texts": "abd"})
    assert not made(folder, {"recipe": {"steps": 5, "rate": 0.1}, "texts": "abd"})
    (folder / "config.json").unlink()
    assert made(folder, {"recipe": {"steps": 5, "rate": 0.1}, "texts": "abd"})


def test_a_model_of_which_nothing_is_known_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert made(tmp_path, {"texts": "abc"})


def test_what_failed_is_not_taken_for_what_was_there_before(tmp_path: Path) -> None:
    def fail() -> None:
        raise UsageError("half done")

    made(tmp_path, {"texts": "abc"})
    with pytest.raises(UsageError, match="half done"):
        make_once(tmp_path, {"texts": "abd"}, fail)
    assert made(tmp_path, {"texts": "abc"})
