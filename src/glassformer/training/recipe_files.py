"""The recipes that come with glassformer, as files."""

from __future__ import annotations

from pathlib import Path

OF_CLASSIFIERS = ("*.toml", "published/*.toml")
OF_LANGUAGE_MODELS = ("language-models/*.toml",)


def recipe_files(patterns: tuple[str, ...]) -> dict[str, Path]:
    """Return name → file of each recipe whose path matches one of these patterns, in the order of the patterns."""
    package = Path(__file__).parent.parent
    installed, checkout = package / "recipes", package.parent.parent / "recipes"
    folder = installed if installed.is_dir() else checkout
    return {path.stem: path for pattern in patterns for path in sorted(folder.glob(pattern))}
