"""Choose the variants to compare and the rows of each seed, before any training."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig, fingerprint, make_splits
from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.errors import UsageError
from glassformer.experiments.judging import Judge
from glassformer.models.build import parameter_count
from glassformer.models.model_config import SEEDS, ModelConfig
from glassformer.targets.parts import part
from glassformer.training.preparation import recipe_for_inputs
from glassformer.training.readers import check_readers
from glassformer.training.recipe import Recipe, load_recipe, parse_overrides

DEFAULT_STEPS = 1_000
MOST_SEEDS = 1_000  # each has its own rows
MEASURED = 0.2  # the share of the rows that a seed measures on
SAME_FOR_ALL = {
    "training.seed": "because `seeds=` sets the number of seeds",
    "training.max_steps": "because every variant gets the same budget, `steps=`",
    "training.max_seconds": "because every variant gets the same budget, `seconds=`",
    "training.epochs": "because the budget decides how long every variant trains",
    "training.patience": "because the budget decides how long every variant trains",
    "validation.file": "because every variant gets the same rows",
    "validation.group": "because every variant gets the same rows",
    "validation.time": "because every variant gets the same rows",
}


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One combination of the varied values. `recipe` is that of the first seed."""

    name: str
    settings: dict[str, Any]
    recipe: Recipe


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is compared: the varied keys with their values, every combination of them (the last key varies fastest), and
    the seeds that each combination is trained with."""

    keys: dict[str, list[Any]]
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]

    @property
    def budget(self) -> str:
        training = self.variants[0].recipe.training
        if training.max_steps is None:
            return f"{training.max_seconds:g} s"
        return counted(training.max_steps, "step")

    @cached_property
    def models(self) -> list[int]:
        """For each variant the number of the first one that is the same model, because the same settings hold."""
        recipes = [resolved(variant.recipe) for variant in self.variants]
        return [recipes.index(recipe) for recipe in recipes]


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The rows of one seed: `sources` to learn from, and `measured` to measure on."""

    judge: Judge
    sources: Sources
    measured: Table

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The order of classes, and the fingerprints of the rows to learn from, to validate on and to measure on."""
        validation = self.sources.validation
        return {
            "order": self.sources.train.order,
            "train": fingerprint(self.sources.train),
            "validation": None if validation is None else fingerprint(validation),
            "measured": fingerprint(self.measured),
        }


def plan_variants(
    vary: Sequence[str],
    *,
    recipe: str | None = None,
    preset: str | None = None,
    overrides: Mapping[str, Any],
    seeds: int,
    steps: int | None = None,
    seconds: float | None = None,
) -> Plan:
    """Make a recipe of every combination of the varied values.

    The variants have no counting reader, which would hide their differences, unless `model.counting` is set or varied.

    Args:
        vary: `key=value,value,…`. A key without a section belongs to `[model]`.
        seeds: the number of seeds, counted up from the recipe's seed.
        steps, seconds: the budget of every run. Without either it is the recipe's, or `DEFAULT_STEPS` steps.

    Raises:
        UsageError: a key or value is unknown, or a combination does not make a recipe.
    """
    if seeds < 2:
        raise UsageError(
            f"`seeds={seeds}`: a comparison needs at least two seeds, because noise only shows between seeds; "
            "five are usual"
        )
    if seeds > MOST_SEEDS:
        raise UsageError(f"`seeds={seeds}`: a comparison has at most {MOST_SEEDS:,} seeds; five are usual")
    if steps is not None and seconds is not None:
        raise UsageError("`steps=` and `seconds=` are two budgets; give one of them")
    given = dict(overrides)
    if steps is not None or seconds is not None:
        given |= {"training.max_steps": steps, "training.max_seconds": seconds}
    base = load_recipe(recipe, preset=preset, overrides=given)
    if base.training.max_steps is None and base.training.max_seconds is None:
        given["training.max_steps"] = DEFAULT_STEPS
    keys = read_choices(vary, option="vary", fixed=SAME_FOR_ALL, what="a comparison")
    if taken := [key for key in keys if key in overrides or (key == "model.preset" and preset is not None)]:
        raise UsageError(f"{key_name(taken[0])} is both set and varied; do only one of these")
    combinations = [dict(zip(keys, values, strict=True)) for values in itertools.product(*keys.values())]

    def read(settings: Mapping[str, Any]) -> Recipe | str:
        """The recipe with these settings, or why there is none."""
        values = {**given, **settings}
        try:
            found = load_recipe(recipe, preset=preset, overrides=values)
            if isinstance(found.model, ModelConfig) and "model.counting" not in values:
                return load_recipe(recipe, preset=preset, overrides={**values, "model.counting": "none"})
            return found
        except UsageError as error:
            return str(error)

    variants, failures = [], []
    for settings in combinations:
        found = read(settings)
        if isinstance(found, str):
            failures.append((settings, found))
        else:
            variants.append(Variant(name=_name(settings, keys), settings=settings, recipe=found))
    for key, value in ((key, value) for key, values in keys.items() for value in values):
        hopeless = all(variant.settings[key] != value for variant in variants)
        if hopeless and isinstance(why := read({key: value}), str):
            raise UsageError(f"{_given('vary', f'{key_name(key)}={_plain(value)}')}: {why}")
    if failures:
        raise _cannot_be_built(_name(failures[0][0], keys), failures[0][1], len(failures), len(combinations))
    first = base.training.seed
    counted_up = tuple((first + number) % SEEDS for number in range(seeds))
    return Plan(keys=keys, variants=tuple(variants), seeds=counted_up)


def key_name(key: str) -> str:
    """Return the name of a key for people. A key of `[model]` loses its section."""
    return key.removeprefix("model.")


def value_name(key: str, value: Any, values: Sequence[Any]) -> str:
    """Return the name of one of the values of a key for people. Words stand alone; if others are among them, all come
    with their key."""
    words = all(isinstance(each, str) and each != "none" for each in values)
    return value if words else f"{key_name(key)}={_plain(value)}"


def resolved(recipe: Recipe) -> Recipe:
    """Return the recipe with the body that a model gets: `auto` is none without counting."""
    if "body" in recipe.model.beside or getattr(recipe.model, "body", "none") != "auto":
        return recipe
    return recipe.model_copy(update={"model": recipe.model.model_copy(update={"body": "none"})})


def cut_rows(judge: Judge, sources: Sources, seed: int, validation: ValidationConfig, test: Table | None) -> Cut:
    """Return the rows that every variant learns from and is measured on with one seed.

    Without `test`, a fifth of the training rows is held out for measuring. Each seed draws its own fifth, with the
    classes in proportion and whole groups. A fixed fifth would be simpler. But then all runs would depend on the same
    rows, and no interval over seeds could tell what other rows would have shown. With `validation.time`, each seed gets
    the latest fifth.

    Raises:
        UsageError: a label would have too few rows to learn from, or `test` cannot be measured on.
    """
    if test is not None:
        if test.frame.height < 2:
            raise UsageError(f"`test={test.source!r}` has a single row; measuring needs at least two")
        judge.check_measured(sources.train, test)
        return Cut(
            judge=judge,
            sources=Sources(train=sources.train, validation=sources.validation, test=test),
            measured=test,
        )
    config = ValidationConfig(fraction=MEASURED, group=validation.group, time=validation.time, min_rows=0)
    splits = make_splits(sources.train, config, seed=seed)
    assert splits.validation is not None
    judge.check_learned(sources.train, splits.train)
    judge.check_measured(sources.train, splits.validation)
    return Cut(
        judge=judge,
        sources=Sources(train=splits.train, validation=sources.validation, test=splits.validation),
        measured=splits.validation,
    )


def check_buildable(variants: Sequence[Variant], cut: Cut) -> None:
    """Refuse a variant whose model cannot be built for the vocabulary of its run, or that has no such readers.

    Raises:
        UsageError: names the variant or the value and says why.
    """
    sizes: dict[str, tuple[int, int]] = {}
    failures: dict[str, str] = {}
    for variant in variants:
        recipe = variant.recipe
        key = json.dumps([recipe.tokenizer.model_dump(mode="json"), recipe.validation.model_dump(mode="json")])
        try:
            if key not in sizes:
                prepared = part(cut.judge.kind, "training").prepare(cut.sources, recipe)
                sizes[key] = prepared.tokenizer.vocab_size, len(prepared.labels.names)
            check_readers(recipe.model, prepared.saying)
        except UsageError as error:
            raise _as_varied(error, variant) from error
        try:
            parameter_count(recipe_for_inputs(recipe, cut.sources, None).model, *sizes[key])
        except (ValueError, UsageError) as error:
            failures[variant.name] = str(error)
    if failures:
        name, why = next(iter(failures.items()))
        raise _cannot_be_built(name, why, len(failures), len(variants))


def _as_varied(error: UsageError, variant: Variant) -> UsageError:
    """Return an error about a setting as one about a value that is tried, if it is one."""
    key, _, why = error.message.removeprefix("`").partition("=")
    if key not in variant.settings:
        return error
    return UsageError(
        f"{_given('vary', f'{key_name(key)}={_plain(variant.settings[key])}')}: {why.partition('`: ')[2]}"
    )


def read_choices(choices: Sequence[str], *, option: str, fixed: Mapping[str, str], what: str) -> dict[str, list[Any]]:
    """Return the values of each setting that the user lists. A key without a section belongs to `[model]`.

    Args:
        choices: `key=value,value,…`
        fixed: settings that cannot be listed → why.

    Raises:
        UsageError: a line cannot be read, is fixed, or is given twice.
    """
    keys: dict[str, list[Any]] = {}
    for text in choices:
        bare, equals, listed = text.partition("=")
        if not equals or not bare.strip():
            example = _given(option, "positions=learned,rotary")
            raise UsageError(f"{_given(option, text)}: write key=value,value, for example {example}")
        key = bare.strip() if "." in bare else f"model.{bare.strip()}"
        if key in keys:
            raise UsageError(f"{_given(option, key_name(key))} is given twice; give all its values at once")
        if key in fixed:
            raise UsageError(f"{_given(option, text)}: {key} cannot be varied, {fixed[key]}")
        words = [word.strip() for word in listed.split(",")]
        values = [parse_overrides([f"{key}={word}"])[key] for word in words]
        if "" in words or len(values) < 2:
            raise UsageError(f"{_given(option, text)}: {what} needs at least two values, separated by commas")
        if twice := [word for word, value in zip(words, values, strict=True) if values.count(value) > 1]:
            raise UsageError(f"{_given(option, text)}: {twice[0]} is given twice")
        keys[key] = values
    return keys


def _cannot_be_built(name: str, why: str, count: int, total: int) -> UsageError:
    more = f" ({count} of {total} variants cannot)" if count > 1 else ""
    return UsageError(f"the variant {name} cannot be built: {why}{more}; vary values that go together")


def _given(option: str, text: str) -> str:
    return f"`{option}={text!r}`"


def _name(settings: Mapping[str, Any], keys: Mapping[str, Sequence[Any]]) -> str:
    """Return the name of a variant: its value if a single key is varied, else all keys with their values."""
    if len(settings) == 1:
        return next(value_name(key, value, keys[key]) for key, value in settings.items())
    return " · ".join(f"{key_name(key)}={_plain(value)}" for key, value in settings.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
