"""Write a recipe as a TOML file that `train` reads. The standard library reads TOML and does not write it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from glassformer.training.recipe import Recipe

_SECTIONS = ("validation", "tokenizer", "model", "training", "pretraining")


def recipe_toml(recipe: Recipe, description: str) -> str:
    """Return the recipe as TOML: the settings that differ from the defaults, in their sections."""
    ours = recipe.model_dump(mode="json")
    defaults = type(recipe)().model_dump(mode="json")
    lines = [f"description = {_value(description)}"]
    for section in _SECTIONS:
        changed = dict(_changed(section, ours[section], defaults[section]))
        if section == "validation" and not recipe.model.beside:
            changed["min_rows"] = ours[section]["min_rows"]  # such models have another default
        if changed:
            lines += ["", f"[{section}]", *(f"{key} = {_value(value)}" for key, value in changed.items())]
    return "\n".join(lines) + "\n"


def _changed(
    section: str, ours: Mapping[str, Any] | None, defaults: Mapping[str, Any] | None
) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a section that must be written. TOML has no None, so some are written with others."""
    if ours is None:
        return
    known = defaults or {}
    if section == "model" and ours["design"] != known.get("design"):
        known = {}
    if section == "validation" and not ours["fraction"]:
        ours = {**ours, "fraction": 0.0}
    unlimited = section == "training" and ours["enough_steps"] is None
    for key, value in ours.items():
        always = section == "pretraining" or (unlimited and key == "epochs")
        limit = section == "training" and key == "enough_steps" and ours["epochs"] != known.get("epochs")
        if value is not None and (always or limit or value != known.get(key)):
            yield key, value


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(each)}" for key, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
