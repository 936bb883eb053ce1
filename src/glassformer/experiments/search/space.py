"""The settings that a search tries: the values of each, and the combinations that are drawn from them."""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.errors import UsageError
from glassformer.experiments.variants.plan import read_choices, resolved
from glassformer.models.model_config import ModelConfig
from glassformer.training.recipe import Recipe, with_settings

DEFAULT = "the recipe as it is"
VALUES: Mapping[str, Sequence[Any]] = {
    "tokenizer.kind": ("word", "bpe", "unigram"),
    "tokenizer.vocab_size": (4_000, 30_000),
    "model.d_model": (64, 128, 256),
    "model.n_layers": (1, 2, 3),
    "model.pooling": ("mean", "max", "attention"),
    "model.dropout": (0.1, 0.3, 0.5),
    "training.learning_rate": (2.5e-4, 5e-4, 1e-3, 2e-3),
    "training.epochs": (2, 4, 8),
    "training.token_dropout": (0.0, 0.1, 0.2),
}
"""What is searched unless the user names other settings: those that changed something in docs/log.md, or that users ask
for. The counting reader is not among them: `auto` was the best on all four tables there, each other one takes another
fit for every part, and every fit chooses its strength by cross-validation."""
_FIXED = {
    "training.seed": "because every trial is trained with several seeds",
    "training.max_steps": "because the search shortens trials itself; search over training.epochs",
    "training.max_seconds": "because the search shortens trials itself; search over training.epochs",
    **dict.fromkeys(
        ("training.class_weights", "training.best_epoch_by"),
        "because it changes the loss that the trials are rated by",
    ),
    **dict.fromkeys(
        tuple(f"validation.{name}" for name in ("fraction", "file", "group", "time", "min_rows")),
        "because every trial is measured on the same rows",
    ),
}
_MOST_FAILURES = 1_000  # draws in a row that give nothing new
_TRIED = 200  # combinations with a value that does not go with the recipe
_LISTED = 5_000  # combinations: fewer are listed, of more some are drawn


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A combination of settings. `recipe` has the seed of the search."""

    number: int
    settings: dict[str, Any]
    recipe: Recipe

    @property
    def name(self) -> str:
        """The settings in words."""
        return " · ".join(f"{setting_name(key)}={value}" for key, value in self.settings.items()) or DEFAULT


def read_space(over: Sequence[str], recipe: Recipe, given: Collection[str] = ()) -> dict[str, list[Any]]:
    """Return the values of each setting, of those that the user names or else of `VALUES`.

    Args:
        over: `key=value,value,…`. A key without a section belongs to `[model]`.
        given: settings that the user has set, which stay as they are.

    Raises:
        UsageError: a key or a value is unknown, is fixed or set, or does not go with the recipe.
    """
    if not over:
        ours = isinstance(recipe.model, ModelConfig)
        space = {key: list(values) for key, values in VALUES.items() if ours or not key.startswith("model.")}
        return {
            key: values
            for key, values in space.items()
            if key not in given and any(_fits(recipe, key, value) for value in values)
        }
    space = read_choices(over, option="over", fixed=_FIXED, what="a search")
    if both := [key for key in space if key in given]:
        raise UsageError(f"{both[0]} is both set and searched; leave one out")
    if 0 in space.get("training.epochs", ()):
        raise UsageError(
            "`over='training.epochs=0'`: it trains no transformer, and the search compares trainings of it"
        )
    return {key: [_as_read(recipe, space, key, value) for value in values] for key, values in space.items()}


def _as_read(recipe: Recipe, space: Mapping[str, Sequence[Any]], key: str, value: Any) -> Any:
    """Return a value as a recipe holds it: .1 is then a number."""
    others = {name: values for name, values in space.items() if name != key}
    combinations = itertools.islice(itertools.product(*others.values()), _TRIED)
    refused: UsageError | None = None
    for settings in ({}, *(dict(zip(others, values, strict=True)) for values in combinations)):
        try:
            return value_in(with_settings(recipe, {key: value, **settings}), key)
        except UsageError as error:
            refused = refused or error
    assert refused is not None
    raise UsageError(f"`over={f'{key}={value}'!r}`: {refused.message}") from refused


def candidates(space: Mapping[str, Sequence[Any]], recipe: Recipe) -> Iterator[Candidate]:
    """Yield the recipe as it is, then different combinations in random order, until there are no others.

    Combinations that do not make a recipe are left out.
    """
    yield Candidate(number=0, settings={}, recipe=recipe)
    found = [resolved(recipe)]
    for settings in _combinations(space, np.random.default_rng(recipe.training.seed)):
        changed = {key: value for key, value in settings.items() if value != value_in(recipe, key)}
        if "training.epochs" in changed and "training.enough_steps" not in changed:
            changed["training.enough_steps"] = recipe.training.enough_steps  # more epochs would lift this limit
        try:
            made = with_settings(recipe, {key: value for key, value in changed.items() if value is not None})
        except UsageError:
            continue
        if (model := resolved(made)) not in found:
            named = {key: value for key, value in changed.items() if key in space}
            yield Candidate(number=len(found), settings=named, recipe=made)
            found.append(model)


def setting_name(key: str) -> str:
    """Return the name of a setting without its section."""
    return key.partition(".")[2]


def value_in(recipe: Recipe, key: str) -> Any:
    """Return the value of a setting by its dotted name. None if the recipe does not have it."""
    section, _, name = key.partition(".")
    return getattr(getattr(recipe, section), name, None)


def _combinations(space: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield combinations in random order, each once."""
    sizes = [len(values) for values in space.values()]
    total = math.prod(sizes)

    def numbered(number: int) -> dict[str, Any]:
        places = map(int, np.unravel_index(number, sizes))
        return {key: values[place] for (key, values), place in zip(space.items(), places, strict=True)}

    if total <= _LISTED:
        yield from map(numbered, rng.permutation(total).tolist())
        return
    seen, failures = set[int](), 0
    while failures < _MOST_FAILURES:
        number = int(rng.integers(total))
        failures = failures + 1 if number in seen else 0
        if number not in seen:
            seen.add(number)
            yield numbered(number)


def _fits(recipe: Recipe, key: str, value: Any) -> bool:
    try:
        with_settings(recipe, {key: value})
    except UsageError:
        return False
    return True
