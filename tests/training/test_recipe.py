from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.errors import UsageError
from glassformer.models.model_config import PRESETS, ModelConfig
from glassformer.models.published.bui_dang import BuiDangRowsConfig
from glassformer.training.recipe import (
    DEFAULT_PRESET,
    PretrainingRecipe,
    Recipe,
    load_pretraining_recipe,
    load_recipe,
    parse_overrides,
    shipped_recipes,
)


@pytest.fixture
def recipe_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(
        'description = "Mine"\n[model]\npreset = "tiny"\npooling = "max"\n[training]\nepochs = 4\n', encoding="utf-8"
    )
    return path


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


OF_LANGUAGE_MODELS = shipped_recipes(PretrainingRecipe)


@pytest.mark.parametrize("name", [*shipped_recipes(), *OF_LANGUAGE_MODELS])
def test_every_shipped_recipe_loads_and_says_what_it_is_for(name: str) -> None:
    recipe = load_pretraining_recipe(name) if name in OF_LANGUAGE_MODELS else load_recipe(name)
    assert recipe.description
    assert (shipped_recipes() | OF_LANGUAGE_MODELS)[name].read_text(encoding="utf-8").startswith("#")


def test_there_are_recipes_and_each_is_of_one_kind() -> None:
    assert "default" in shipped_recipes()
    assert not shipped_recipes().keys() & OF_LANGUAGE_MODELS.keys()
    with pytest.raises(UsageError, match=r"`recipe='quick'`: neither a file .*; there are .*notes-language-model"):
        load_pretraining_recipe("quick")
    with pytest.raises(UsageError, match="`recipe='notes-language-model'`: neither"):
        load_recipe("notes-language-model")


def test_the_file_of_defaults_says_the_defaults() -> None:
    written = load_pretraining_recipe("language-model")
    assert written.model_copy(update={"description": ""}) == load_pretraining_recipe()


def test_without_a_recipe_everything_is_default() -> None:
    assert load_recipe() == Recipe()
    assert load_recipe().model == PRESETS[DEFAULT_PRESET]


def test_the_default_recipe_is_the_default() -> None:
    assert load_recipe("default").model_copy(update={"description": ""}) == Recipe()


def test_a_file_changes_the_preset_that_it_names(recipe_file: Path) -> None:
    recipe = load_recipe(str(recipe_file))
    assert recipe.model == PRESETS["tiny"].model_copy(update={"pooling": "max"})
    assert recipe.training.epochs == 4
    default = Recipe().training
    assert recipe.training.enough_steps is None
    others = {"epochs": default.epochs, "enough_steps": default.enough_steps}
    assert recipe.training.model_copy(update=others) == default


def test_a_preset_that_is_given_wins_over_the_files(recipe_file: Path) -> None:
    assert load_recipe(str(recipe_file), preset="base").model == PRESETS["base"].model_copy(update={"pooling": "max"})


def test_overrides_win_over_everything(recipe_file: Path) -> None:
    overrides = {"training.epochs": 9, "model.d_model": 32, "validation.fraction": 0.2, "tokenizer.kind": "byte"}
    recipe = load_recipe(str(recipe_file), preset="small", overrides=overrides)
    assert isinstance(recipe.model, ModelConfig)
    assert (recipe.training.epochs, recipe.model.d_model, recipe.model.pooling) == (9, 32, "max")
    assert (recipe.validation.fraction, recipe.tokenizer.kind) == (0.2, "byte")


def test_a_file_written_by_notepad_is_read(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes("\ufeff[training]\r\nepochs = 2\r\n".encode())
    assert load_recipe(str(path)).training.epochs == 2


@pytest.mark.parametrize(
    ("assignment", "key", "value"),
    [
        ("training.epochs=3", "training.epochs", 3),
        ("training.learning_rate=1e-3", "training.learning_rate", 1e-3),
        ("tokenizer.lowercase=false", "tokenizer.lowercase", False),
        ("model.pooling=attention", "model.pooling", "attention"),
        ('model.pooling = "max"', "model.pooling", "max"),
        ("training.class_weights={yes = 2.0, no = 1.0}", "training.class_weights", {"yes": 2.0, "no": 1.0}),
        ("validation.file=data/a=b.csv", "validation.file", "data/a=b.csv"),
        ("validation.group= film title ", "validation.group", "film title"),
    ],
)
def test_assignments_are_toml_or_bare_words(assignment: str, key: str, value: Any) -> None:
    assert parse_overrides([assignment]) == {key: value}


def test_the_last_assignment_wins() -> None:
    assert parse_overrides(["training.epochs=3", "training.epochs=5"]) == {"training.epochs": 5}


@pytest.mark.parametrize("assignment", ["training.epochs", "=3", "training.epochs 3"])
def test_an_assignment_without_equals(assignment: str) -> None:
    with pytest.raises(UsageError, match="write it as key=value"):
        parse_overrides([assignment])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[trainin]\nepochs = 3", r"unknown section \[trainin\] \(did you mean \[training\]\?\)"),
        ("[training]\nepoch = 3", r"unknown key training\.epoch \(did you mean training\.epochs\?\)"),
        ("[training]\ndropout = 0.2", r"unknown key training\.dropout \(did you mean model\.dropout\?\)"),
        ("[model]\nzzz = 0.2", r"unknown key model\.zzz; \[model\] has attention, .*, readers, residual, rules$"),
        ("training = 3", r"training must be a section, \[training\], not a value"),
        ("[training\nepochs = 3", r"not readable as TOML.*line 1"),
        ("[training]\nepochs = many", r"not readable as TOML.*line 2"),
        ('[training]\nepochs = "many"', r"training\.epochs = 'many': it must be a whole number"),
        ('[training]\nclass_weights = "b"', r"= 'b': it must be names with values, such as \{good = 2\}"),
        ("[training]\nepochs = -1", r"training\.epochs = -1: it must be at least 0"),
        ("[training]\nepochs = -1\nclip = -1", r"training\.epochs = -1: .*; training\.clip = -1: "),
        ('[training]\nepochs = 0\n[model]\ncounting = "none"', r"trains no transformer, .* has no other reader"),
        ("[training]\nepochs = 0\n[pretraining]\nepochs = 1", r"toml: training\.epochs = 0 .* nothing to pre-train"),
        ('[training]\nepochs = 0\n[model]\ndesign = "vinh-mlp"', r"trains no transformer, .* has no other reader"),
        ('[training]\nschedule = "step"', r"training\.schedule = 'step': .*'cosine', 'linear'"),
        ("[training.class_weights]\nyes = -1", r"training\.class_weights\.yes = -1: .*greater than 0"),
        ("[model]\nd_model = 30", r"d_model must be a multiple of n_heads, got d_model=30, n_heads=4"),
        ('[model]\npreset = "huge"', r"no preset 'huge'; there are tiny, small, base"),
        ('[tokenizer]\nkind = "bpe"\nvocab_size = 99', r"tokenizer: vocab_size must be at least 259 for kind='bpe'"),
        ('[validation]\ngroup = "film"\nfile = "v.csv"', r"validation\.group = 'film' needs .*file is 'v\.csv'"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_named_with_the_file(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError, match=words) as caught:
        load_recipe(path)
    assert str(caught.value).startswith(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"epochs": 3}, r"the setting epochs: name the section too.*did you mean training\.epochs"),
        ({"training.epochz": 3}, r"unknown key training\.epochz \(did you mean training\.epochs\?\)"),
        ({"modle.d_model": 3}, r"unknown section \[modle\] \(did you mean \[model\]\?\)"),
        ({"training.epochs": "x"}, r"training\.epochs = 'x'"),
        ({"description.x": 1}, "description must be a section"),
        ({"model.design": [1]}, r"no design \[1\]; there are classifier"),
        ({"model.preset": [1]}, r"no preset \[1\]; there are tiny"),
    ],
)
def test_a_mistake_in_an_override(overrides: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_recipe("default", overrides=overrides)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[model]\ndesign = "lstm"', r"no design 'lstm'; there are classifier, bui-dang-rows"),
        ('[model]\ndesign = "vinh-mlp"\npreset = "tiny"', r"preset 'tiny' .* does not go with .*'vinh-mlp'"),
        ('[model]\ndesign = "vinh-mlp"\nembed = 3', r"unknown key model\.embed \(did you mean model\.embed_dim\?\)"),
        ('[model]\ndesign = "vinh-mlp"\nembed_dim = 0', r"model\.embed_dim = 0: it must be at least 1"),
        ("model = 3", r"model must be a section"),
    ],
)
def test_a_mistake_in_a_published_design(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_recipe(written(tmp_path, text))


def test_a_published_design_by_its_recipe() -> None:
    recipe = load_recipe("bui-dang-rows", overrides={"model.hidden": 4})
    assert recipe.model == BuiDangRowsConfig(hidden=4)
    with pytest.raises(UsageError, match="preset 'tiny'"):
        load_recipe("bui-dang-rows", preset="tiny")


@pytest.mark.parametrize(
    ("settings", "fewest"),
    [
        ({}, 2_000),
        ({"counting": "none"}, 200),
        ({"counting": "none", "body": "english"}, 2_000),
        ({"counting": "none", "readers": ["character-lstm"]}, 2_000),
        ({"design": "bui-dang-rows"}, 200),
    ],
)
def test_a_transformer_beside_any_reader_is_cross_fitted_on_small_tables(settings: dict[str, Any], fewest: int) -> None:
    given = {f"model.{name}": value for name, value in settings.items()}
    assert load_recipe(overrides=given).validation.min_rows == fewest
    assert load_recipe(overrides=given | {"validation.min_rows": 7}).validation.min_rows == 7


PUBLISHED = [name for name, file in shipped_recipes().items() if file.parent.name == "published"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_recipe_keeps_the_rules_of_its_publication(name: str) -> None:
    recipe = load_recipe(name)
    assert getattr(recipe.model, "counting", "none") == "none"
    assert recipe.training.best_epoch_by == "loss"


def test_no_such_recipe_names_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"`recipe='defalt'`: neither a file nor .*did you mean 'default'\?.*there are"
    ):
        load_recipe("defalt")


def test_the_recipe_holds_out_whole_films_of_imdb(tmp_path: Path) -> None:
    (tmp_path / "imdb").mkdir()
    rows = pl.DataFrame({"text": ["good", "bad"], "label": [1, 0], "movie": ["t1", "t2"]})
    rows.write_parquet(tmp_path / "imdb" / "train.parquet")

    def group(data: str, **overrides: Any) -> str | None:
        recipe = load_recipe(overrides={key.replace("__", "."): value for key, value in overrides.items()})
        return recipe.for_data(data, tmp_path).validation.group

    assert group("imdb") == "movie"
    assert group("imdb", validation__group="author") == "author"
    assert group("imdb.csv") is None
    assert group("imdb", validation__file="mine.csv") is None
    assert group("imdb", validation__fraction=0) is None
    assert group("imdb", validation__time="date") is None
    assert group("imdb", model__counting="none") is None
