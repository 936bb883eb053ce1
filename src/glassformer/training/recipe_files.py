"""Recipes as files: those that come with glassformer, and the user's."""

import difflib
import tomllib
from pathlib import Path
from typing import Any

from glassformer.data.files import as_path
from glassformer.errors import UsageError, brief

OF_CLASSIFIERS = ("*.toml", "published/*.toml")
OF_LANGUAGE_MODELS = ("language-models/*.toml",)
_MOST_BYTES = 1_000_000  # of a recipe's file


def recipe_files(patterns: tuple[str, ...]) -> dict[str, Path]:
    """Return name → file of each recipe whose path matches one of these patterns, in the order of the patterns."""
    package = Path(__file__).parent.parent
    installed, checkout = package / "recipes", package.parent.parent / "recipes"
    folder = installed if installed.is_dir() else checkout
    return {path.stem: path for pattern in patterns for path in sorted(folder.glob(pattern))}


def find_recipe(name_or_path: str, patterns: tuple[str, ...]) -> Path:
    """Return the file of a recipe. Raises `UsageError` if it is neither a file nor the name of a shipped recipe."""
    shipped, path = recipe_files(patterns), as_path(name_or_path)
    if name_or_path in shipped:
        return shipped[name_or_path]
    if path.is_file():
        return path
    near = difflib.get_close_matches(name_or_path, shipped, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise UsageError(
        f"`recipe={name_or_path!r}`: neither a file nor a recipe by that name{hint}; there are {', '.join(shipped)}"
    )


def check_student(into: str) -> None:
    """Raise `UsageError` if this is neither a preset, nor the name of a recipe, nor a file."""
    from glassformer.models.model_config import PRESETS

    recipes, path = recipe_files(OF_CLASSIFIERS), as_path(into)
    if into not in PRESETS and into not in recipes and not path.is_file():
        raise UsageError(
            f"`into={into!r}`: neither a preset nor a recipe. Presets: {', '.join(PRESETS)}; recipes: "
            f"{', '.join(recipes)}, or a TOML file"
        )


def read_recipe(path: Path) -> dict[str, Any]:
    """Return the sections of a recipe. Raises `UsageError` if the file is no TOML."""
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise UsageError(f"{path} is larger than {_MOST_BYTES:,} bytes, which no recipe is; name another file")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except RecursionError as error:
        raise UsageError(f"{path}: not readable as TOML: values are nested too deep") from error
    except ValueError as error:  # of TOML, of UTF-8, or an integer of thousands of digits
        raise UsageError(f"{path}: not readable as TOML: {brief(str(error))}") from error
