"""`glassformer recipes`: the whole runs that come with glassformer."""

from __future__ import annotations

from typing import Annotated

import typer

from glassformer.cli.options import Json
from glassformer.cli.output import print_json, show


def recipes(
    name: Annotated[str | None, typer.Argument(help="Show this recipe whole.")] = None,
    json: Json = False,
) -> None:
    """List the recipes, or show one."""
    from glassformer.errors import UsageError
    from glassformer.training.recipe import PretrainingRecipe, load_pretraining_recipe, load_recipe, shipped_recipes

    of_language_models = shipped_recipes(PretrainingRecipe)
    shipped = shipped_recipes() | of_language_models
    loaded = {one: (load_pretraining_recipe if one in of_language_models else load_recipe) for one in shipped}
    if name is not None:
        if name not in shipped:
            raise UsageError(f"no recipe {name!r}; there are {', '.join(shipped)}")
        if json:
            print_json({"name": name, "recipe": loaded[name](name).model_dump(mode="json")})
        else:
            show(shipped[name].read_text(encoding="utf-8"), end="")
        return
    described = {one: load(one).description for one, load in loaded.items()}
    if json:
        print_json({"recipes": [{"name": one, "description": text} for one, text in described.items()]})
        return
    width = max(map(len, described))
    for one, text in described.items():
        show(f"{one:<{width}}  {text}")
