"""A recipe describes a whole run in a short TOML file. Any value can be overridden by its dotted name."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from glassformer.data.known import group_column
from glassformer.data.splits import ValidationConfig
from glassformer.data.tokenizers import TokenizerConfig
from glassformer.data.wording import listed
from glassformer.errors import UsageError, brief, brief_value
from glassformer.models.build import DESIGNS, LANGUAGE_DESIGNS, AnyLanguageModelConfig, AnyModelConfig
from glassformer.models.model_config import (
    LANGUAGE_PRESETS,
    PRESETS,
    DesignConfig,
    LanguageModelConfig,
    ModelConfig,
    VocabSize,
)
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.recipe_files import (
    OF_CLASSIFIERS,
    OF_LANGUAGE_MODELS,
    find_recipe,
    read_recipe,
    recipe_files,
)
from glassformer.training.setting_names import complaint, nearest
from glassformer.training.training_config import PretrainingConfig, TrainingConfig

DEFAULT_PRESET = "small"
_FINE_TUNING, _AFTER_PRETRAINING = "fine-tune", "after-pretraining"
_ROWS_TO_SPLIT = 200  # beside other readers, smaller tables are cross-fitted instead
_MOST_CLAUSES = 4  # of a message about settings
_NOT_OF_THE_SHAPE = {"dropout", "attention_dropout", "counting", "body", "readers", "rules"}


class AnyRecipe(BaseModel):
    """Everything that decides a run except the data itself.

    In a file, `[model]` may have `preset = "small"`. The other keys of the section then change that preset. Or it may
    have `design = "…"`, one of the published designs. The other keys are then settings of that design.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    designs: ClassVar[Mapping[str, type[DesignConfig]]]
    """The designs that `[model]` may name, our own first."""
    presets: ClassVar[Mapping[str, DesignConfig]]
    """The presets of our own design."""
    files: ClassVar[tuple[str, ...]]
    """The patterns of the files of this kind in the folder of recipes."""

    description: str = ""
    validation: ValidationConfig = ValidationConfig()


class Recipe(AnyRecipe):
    """The recipe of a classifier."""

    designs: ClassVar[Mapping[str, type[DesignConfig]]] = DESIGNS
    presets: ClassVar[Mapping[str, DesignConfig]] = PRESETS
    files: ClassVar[tuple[str, ...]] = OF_CLASSIFIERS

    tokenizer: TokenizerConfig = TokenizerConfig()
    model: AnyModelConfig = PRESETS[DEFAULT_PRESET]
    training: TrainingConfig = TrainingConfig()
    pretraining: PretrainingConfig | None = None
    """How the model is pre-trained on its own texts before it learns the labels: see `pretrain.py`. None: not."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.pretraining is not None:
            LanguageModelConfig.like(self.model)
        if self.training.without_transformer and not self.model.beside:
            raise ValueError("training.epochs = 0 trains no transformer, and this model has no other reader")
        if self.training.tune_body and "encoder" not in self.model.beside:
            raise ValueError("training.tune_body tunes an encoder; name one (model.body = 'hf:FOLDER')")
        if self.training.without_transformer and self.pretraining is not None:
            raise ValueError("training.epochs = 0 trains no transformer, so there is nothing to pre-train")
        return self

    def for_data(self, source: str, data_dir: Path | None) -> Self:
        """Return this recipe with the groups of a known data set, unless it holds rows out in another way.

        The held-out rows weigh the readers. If they were like the training rows, the transformer would get too much
        weight. A transformer alone is not weighed, and its recipe stays as it is.
        """
        validation = self.validation
        if (
            not (isinstance(self.model, ModelConfig) and self.model.beside)
            or (validation.group, validation.time) != (None, None)
            or validation.file is not None
            or not validation.fraction
        ):
            return self
        return self.model_copy(
            update={"validation": validation.model_copy(update={"group": group_column(source, data_dir)})}
        )


class PretrainingTokenizerConfig(TokenizerConfig):
    """How texts are cut into tokens (recipe section `[tokenizer]`). By default the tokens spell any text unchanged."""

    kind: Literal["word", "character", "byte", "bpe", "wordpiece", "unigram"] = "bpe"
    vocab_size: VocabSize = 8_192
    lowercase: bool = False
    normalization: Literal["none", "nfc", "nfkc"] = "none"

    @field_validator("max_tokens")
    @classmethod
    def _texts_stay_whole(cls, value: int | None) -> None:
        if value is not None:
            raise ValueError("a language model learns from whole texts, packed into windows; leave max_tokens out")


class PretrainingRecipe(AnyRecipe):
    """The recipe of a language model."""

    designs: ClassVar[Mapping[str, type[DesignConfig]]] = LANGUAGE_DESIGNS
    presets: ClassVar[Mapping[str, DesignConfig]] = LANGUAGE_PRESETS
    files: ClassVar[tuple[str, ...]] = OF_LANGUAGE_MODELS

    validation: ValidationConfig = ValidationConfig(fraction=0.05, min_rows=20)
    tokenizer: PretrainingTokenizerConfig = PretrainingTokenizerConfig()
    model: AnyLanguageModelConfig = LANGUAGE_PRESETS[DEFAULT_PRESET]
    training: PretrainingConfig = PretrainingConfig()


KindOfRecipe = TypeVar("KindOfRecipe", bound=AnyRecipe)


def shipped_recipes(kind: type[AnyRecipe] = Recipe) -> dict[str, Path]:
    """Return name → file of each recipe of this kind that comes with glassformer, published designs last."""
    return recipe_files(kind.files)


def load_recipe(
    name_or_path: str | None = None,
    *,
    preset: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    init: InitialWeights | None = None,
) -> Recipe:
    """Read a recipe by name or path (None: the defaults), choose a preset, then apply overrides by dotted name.

    With `init`, the model and the tokenizer are those of the weights. Dropout and a shorter window may be chosen.
    If the weights come from a checkpoint, the recipe `fine-tune` gives the values that this recipe leaves open. With a
    section `[pretraining]`, the recipe `after-pretraining` does.

    Raises:
        UsageError: no such recipe or preset, TOML that cannot be read, an unknown key (the nearest known one is named),
            or a value that does not fit, alone or with `init`.
    """
    raw, where = _gather(Recipe, name_or_path, preset, overrides)
    if init is not None:
        raw = _for_weights(raw, init, where)
    if "pretraining" in raw:
        raw = _for_pretraining(raw, init, where)
    return _checked(Recipe, raw, where)


def with_settings(recipe: Recipe, settings: Mapping[str, Any]) -> Recipe:
    """Return the recipe with other settings by dotted name, as if they had been given with it.

    Raises:
        UsageError: a setting does not go with the recipe.
    """
    raw, model = recipe.model_dump(), recipe.model.of_one_text
    raw["model"] = model.model_dump()
    if raw["pretraining"] is None:
        del raw["pretraining"]
        raw["training"] = recipe.training.model_dump(exclude_unset=True)  # the others may depend on pre-training
    for dotted, value in settings.items():
        _override(Recipe, raw, dotted, value)
    if recipe.pretraining is None and "pretraining" in raw:
        raw = _for_pretraining(raw, None, "")
    made = _checked(Recipe, raw, "")
    return made.model_copy(update={"model": recipe.model}) if made.model == model else made


def load_pretraining_recipe(
    name_or_path: str | None = None, *, preset: str | None = None, overrides: Mapping[str, Any] | None = None
) -> PretrainingRecipe:
    """Read the recipe of a language model, as `load_recipe` does for a classifier.

    Raises:
        UsageError: as `load_recipe` does.
    """
    raw, where = _gather(PretrainingRecipe, name_or_path, preset, overrides)
    return _checked(PretrainingRecipe, raw, where)


def _gather(
    kind: type[AnyRecipe], name_or_path: str | None, preset: str | None, overrides: Mapping[str, Any] | None
) -> tuple[dict[str, Any], str]:
    """Return the values of the recipe's file and of the overrides together, and how messages name the file, if any."""
    where, raw = "", {}
    if name_or_path is not None:
        path = find_recipe(name_or_path, kind.files)
        where = f"{path}{' with your settings' if overrides else ''}: "
        raw = read_recipe(path)
    if preset is not None:
        _section(raw, "model", where)["preset"] = preset
    for dotted, value in (overrides or {}).items():
        _override(kind, raw, dotted, value)
    return raw, where


def _checked(kind: type[KindOfRecipe], raw: dict[str, Any], where: str) -> KindOfRecipe:
    _check_keys(kind, raw, where)
    model = _model_section(kind, raw, where)
    try:
        recipe = kind.model_validate(raw | {"model": model})
    except ValidationError as error:
        raise UsageError(f"{where}{_in_words(error)}") from error
    if isinstance(recipe, Recipe) and not recipe.model.beside and "min_rows" not in raw.get("validation", {}):
        validation = recipe.validation.model_copy(update={"min_rows": _ROWS_TO_SPLIT})
        return recipe.model_copy(update={"validation": validation})
    return recipe


def _for_weights(raw: dict[str, Any], init: InitialWeights, where: str) -> dict[str, Any]:
    """Return the recipe with the sections `[model]` and `[tokenizer]` that the weights need."""
    if (preset := _section(raw, "model", where).get("preset")) is not None:
        raise UsageError(
            f"{where}preset {preset!r} contradicts `init={init.name!r}`, which is of {init.model.in_words()}; leave "
            "one of them out"
        )
    if init.model.design == "pretrained":
        raw = _gently(raw, _FINE_TUNING, where)
    for name, theirs in (("model", init.model), ("tokenizer", init.tokenizer_config)):
        own, given = theirs.model_dump(), _section(raw, name, where)
        for key, value in given.items():
            shorter = key == "max_seq_len" and isinstance(value, int) and value <= own.get(key, 0)
            if key in own and key not in _NOT_OF_THE_SHAPE | init.free and value != own[key] and not shorter:
                raise UsageError(
                    f"{where}{name}.{key} = {value!r} contradicts `init={init.name!r}`, where it is {own[key]!r}; "
                    "leave one of them out"
                )
        raw[name] = own | given
    return raw


def _for_pretraining(raw: dict[str, Any], init: InitialWeights | None, where: str) -> dict[str, Any]:
    """Return the recipe with the values that suit a pre-trained model. Both stages have the same seed by default."""
    if init is not None:
        raise UsageError(
            f"{where}`init={init.name!r}` and pre-training are two ways to begin; leave out `init=` or [pretraining]"
        )
    raw = _gently(raw, _AFTER_PRETRAINING, where)
    seed = {key: value for key, value in _section(raw, "training", where).items() if key == "seed"}
    return raw | {"pretraining": seed | _section(raw, "pretraining", where)}


def _gently(raw: dict[str, Any], recipe: str, where: str) -> dict[str, Any]:
    """Return the recipe. Of the values that it leaves open, those of the shipped `recipe` replace the defaults."""
    gentle = read_recipe(shipped_recipes()[recipe])
    return raw | {name: gentle[name] | _section(raw, name, where) for name in gentle.keys() & {"model", "training"}}


def _model_section(kind: type[AnyRecipe], raw: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the section `[model]`. A preset is replaced by its values."""
    model = dict(raw.get("model", {}))
    if model.get("design", own := _own(kind)) != own:
        if "preset" in model:
            raise UsageError(
                f"{where}preset {model['preset']!r} is a size of our own {own} and does not go with "
                f"model.design = {model['design']!r}"
            )
        return model
    chosen = model.pop("preset", DEFAULT_PRESET)
    if not isinstance(chosen, str) or chosen not in kind.presets:
        raise UsageError(f"{where}no preset {brief_value(chosen)}; there are {', '.join(kind.presets)}")
    return kind.presets[chosen].model_dump() | model


def _own(kind: type[AnyRecipe]) -> str:
    return next(iter(kind.designs))


def parse_overrides(assignments: Iterable[str]) -> dict[str, Any]:
    """`["training.epochs=3"]` → `{"training.epochs": 3}`; values are TOML, and a bare word is a string.

    Raises:
        UsageError: an assignment without `=`.
    """
    parsed: dict[str, Any] = {}
    for assignment in assignments:
        dotted, equals, text = assignment.partition("=")
        if not equals or not dotted.strip():
            raise UsageError(
                f"the setting {brief(assignment)}: write it as key=value, for example `training.learning_rate=1e-3`"
            )
        try:
            parsed[dotted.strip()] = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            parsed[dotted.strip()] = text.strip()
    return parsed


def _section(raw: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    section = raw.setdefault(name, {})
    if not isinstance(section, dict):
        raise UsageError(f"{where}{name} must be a section, [{name}], not a value")
    return section


def _override(kind: type[AnyRecipe], raw: dict[str, Any], dotted: str, value: Any) -> None:
    section, dot, key = dotted.partition(".")
    if not dot:
        hint = _nearest(kind, dotted) or ", as in training.learning_rate"
        raise UsageError(f"the setting {brief(dotted)}: name the section too{hint}")
    _section(raw, section, "the settings")[key] = value


def _known_keys(kind: type[AnyRecipe], design: str) -> dict[str, set[str]]:
    """Return the keys of every section. Those of `[model]` are the keys of one design."""
    sections = {
        name: set(part.model_fields)
        for name, field in kind.model_fields.items()
        for part in (get_args(field.annotation) or [field.annotation])
        if isinstance(part, type) and issubclass(part, BaseModel)
    }
    return sections | {"model": {*kind.designs[design].model_fields, "preset"}}


def _nearest(kind: type[AnyRecipe], key: str, design: str | None = None) -> str:
    known = _known_keys(kind, design or _own(kind))
    section, _, key = key.rpartition(".")
    by_name = {name: f"{part}.{name}" for part in reversed(known) for name in known[part]}  # the first part that has it
    by_name |= {name: f"{section}.{name}" for name in known.get(section, ())}
    near = nearest(key, by_name)
    return f" (did you mean {by_name[near]}?)" if near else ""


def _check_keys(kind: type[AnyRecipe], raw: dict[str, Any], where: str) -> None:
    design = _section(raw, "model", where).get("design", _own(kind))
    if not isinstance(design, str) or design not in kind.designs:
        raise UsageError(f"{where}no design {brief_value(design)}; there are {', '.join(kind.designs)}")
    known = _known_keys(kind, design)
    for section, values in raw.items():
        if section == "description":
            continue
        if section not in known:
            near = difflib.get_close_matches(section, known, n=1)
            hint = f" (did you mean [{near[0]}]?)" if near else ""
            raise UsageError(f"{where}unknown section [{brief(section)}]{hint}; there are {', '.join(known)}")
        if not isinstance(values, dict):
            raise UsageError(f"{where}{section} must be a section, [{section}], not a value")
        for key in values:
            if key not in known[section]:
                keys = ", ".join(sorted(known[section]))
                hint = _nearest(kind, f"{section}.{key}", design) or f"; [{section}] has {keys}"
                raise UsageError(f"{where}unknown key {section}.{brief(key)}{hint}")


def _in_words(error: ValidationError) -> str:
    """pydantic's findings, one clause each: `training.epochs = 'many': input should be a valid integer`."""
    clauses = []
    for found in error.errors():
        # "dict[…", "literal[…", "constrained-int" and designs name the branches of a union, not keys.
        branches = ("dict[", "literal[", "constrained-int", *DESIGNS, *LANGUAGE_DESIGNS)
        where = brief(".".join(str(part) for part in found["loc"] if not str(part).startswith(branches)))
        value = found["input"]
        given = f" = {brief_value(value)}" if where and not isinstance(value, (dict, BaseModel)) else ""
        at = f"{where}{given}: " if where else ""
        clauses.append(f"{at}{complaint(found)}")
    return listed(clauses, _MOST_CLAUSES, between="; ", more="; and {:,} more")
