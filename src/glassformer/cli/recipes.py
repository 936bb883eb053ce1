"""`glassformer recipes`: list and print the recipes that come with glassformer."""

from typing import Annotated, Any

import typer

from glassformer.cli.options import Json
from glassformer.cli.output import print_json, show
from glassformer.errors import UsageError
from glassformer.training.recipe_files import OF_CLASSIFIERS, OF_LANGUAGE_MODELS, recipe_files


def recipes(
    name: Annotated[str | None, typer.Argument(help="Print this recipe in full.")] = None,
    json: Json = False,
) -> None:
    """List the recipes that come with glassformer, or print one."""
    import tomllib

    shipped = recipe_files(OF_CLASSIFIERS + OF_LANGUAGE_MODELS)
    if name is not None:
        if name not in shipped:
            raise UsageError(f"no recipe {name!r}; there are {', '.join(shipped)}")
        if json:
            print_json({"name": name, "recipe": _settings(name)})
        else:
            show(shipped[name].read_text(encoding="utf-8"), end="")
        return
    described = {
        recipe: tomllib.loads(file.read_text(encoding="utf-8"))["description"] for recipe, file in shipped.items()
    }
    if json:
        print_json({"recipes": [{"name": recipe, "description": text} for recipe, text in described.items()]})
        return
    width = max(map(len, described))
    for recipe, text in described.items():
        show(f"{recipe:<{width}}  {text}")


def _settings(name: str) -> dict[str, Any]:
    """Return all settings of a recipe, with the defaults of those that its file leaves out."""
    from glassformer.training.recipe import PretrainingRecipe, load_pretraining_recipe, load_recipe, shipped_recipes

    load = load_pretraining_recipe if name in shipped_recipes(PretrainingRecipe) else load_recipe
    return load(name).model_dump(mode="json")
