from pathlib import Path
from typing import Any

import pytest

from glassformer.experiments.search.recipe_file import recipe_toml
from glassformer.training.recipe import load_recipe, shipped_recipes


def read(tmp_path: Path, text: str) -> Any:
    (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
    return load_recipe(str(tmp_path / "recipe.toml"))


@pytest.mark.parametrize("name", sorted(shipped_recipes()))
def test_every_shipped_recipe_is_read_back_as_it_was(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name)
    back = read(tmp_path, recipe_toml(recipe, 'with "quotes"\nand – lines'))
    assert back == recipe.model_copy(update={"description": 'with "quotes"\nand – lines'})


@pytest.mark.parametrize(
    "settings",
    [
        {"training.epochs": 8},
        {"training.epochs": 4},
        {"training.epochs": 8, "training.enough_steps": 500},
        {"training.max_steps": 70, "model.counting": "none"},
        {"validation.fraction": 0.0},
        {"validation.group": "author"},
        {"model.body": "none"},
        {"model.body": "english"},
        {"model.counting": "none", "validation.min_rows": 2_000},
        {"model.counting": "none", "model.body": "english"},
        {"model.counting": "none", "model.body": "english", "validation.min_rows": 200},
        {"training.class_weights": {"a label": 2.0, 'a "quoted" one': 0.5}},
        {"tokenizer.kind": "bpe", "tokenizer.max_tokens": 40},
        {"pretraining.max_seconds": 60, "training.learning_rate": 1e-5},
    ],
)
def test_settings_are_read_back_as_they_were(settings: dict[str, Any], tmp_path: Path) -> None:
    recipe = load_recipe(None, overrides=settings)
    assert read(tmp_path, recipe_toml(recipe, "")) == recipe
