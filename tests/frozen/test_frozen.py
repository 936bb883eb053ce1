"""The folders of each released version load, are whole, and answer as they did."""

import json
from pathlib import Path

import pytest

from tests.frozen.freeze import HERE, LANGUAGE_MODEL, answer, ran

FROZEN = {
    f"{file.parent.name}-{name}": (file.parent / name, found)
    for file in sorted(HERE.glob("*/answers.json"))
    for name, found in json.loads(file.read_text(encoding="utf-8")).items()
}


def numbers(value: object) -> object:
    """A value whose numbers may differ in the last digits: another processor adds in another order."""
    if isinstance(value, dict):
        return {name: numbers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [numbers(inner) for inner in value]
    return pytest.approx(value, abs=2e-4, rel=1e-4) if isinstance(value, float) else value


@pytest.mark.parametrize("name", FROZEN)
def test_a_folder_answers_as_it_did(name: str) -> None:
    folder, found = FROZEN[name]
    ran("verify", folder)
    for each in found:
        assert answer(folder, each["given"]) == numbers(each["answer"])


@pytest.mark.parametrize("folder", sorted(HERE.glob(f"*/{LANGUAGE_MODEL}")), ids=lambda folder: folder.parent.name)
def test_a_language_model_goes_on_with_a_text(folder: Path) -> None:
    ran("verify", folder)
    assert ran("generate", folder, "a good film", "--max-tokens", "4").strip()
