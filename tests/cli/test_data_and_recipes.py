import json
import re
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.known import KNOWN
from glassformer.models.model_config import PRESETS
from glassformer.training.recipe import (
    AnyRecipe,
    PretrainingRecipe,
    Recipe,
    load_pretraining_recipe,
    load_recipe,
    shipped_recipes,
)
from tests.cli.terminal import QUICK, failed, glassformer, misused


def test_data_list(tmp_path: Path) -> None:
    (tmp_path / "zhou").mkdir()
    (tmp_path / "zhou" / "train.parquet").touch()
    said = glassformer("data", "list", "--data-dir", tmp_path)
    assert said.err == ""
    for name in KNOWN:
        assert f"\n{name}  (" in f"\n{said.out}"
    datasets = glassformer("data", "list", "--data-dir", tmp_path, "--json").document["datasets"]
    assert [known["name"] for known in datasets] == list(KNOWN)
    assert [known["name"] for known in datasets if known["here"]] == ["polarity", "zhou"]
    assert all(known["licence"] and known["citation"] and known["splits"] for known in datasets)
    assert "zhou  (here, without: test; glassformer data get zhou)\n" in said.out
    (tmp_path / "zhou" / "test.parquet").touch()
    assert "zhou  (here)\n" in glassformer("data", "list", "--data-dir", tmp_path).out
    got = glassformer("data", "get", "zhou", "--data-dir", tmp_path)
    assert (got.code, got.out) == (0, f"{tmp_path / 'zhou'}\n"), "nothing is downloaded"
    assert "zhou is here already" in got.err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("imbd", ["Did you mean 'imdb'?"]),
        ("polarity", ["nothing to download"]),
        ("disaster-tweets", ["Kaggle", "--from"]),
    ],
)
def test_data_that_cannot_be_got(name: str, words: list[str], tmp_path: Path) -> None:
    misused(glassformer("data", "get", name, "--data-dir", tmp_path), *words)


def test_a_file_that_is_not_the_published_one(tmp_path: Path) -> None:
    wrong = tmp_path / "train.csv"
    wrong.write_text("id,text,target\n1,a,0\n")
    said = glassformer("data", "get", "disaster-tweets", "--data-dir", tmp_path, "--from", wrong)
    failed(said, "not the published file", "sha256")
    assert not list((tmp_path / "disaster-tweets").glob("*"))
    missing = glassformer("data", "get", "imdb", "--data-dir", tmp_path, "--from", tmp_path / "nosuch")
    misused(missing, "No such file")


def test_a_known_data_set_is_read_from_the_named_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zhou").mkdir()
    for split, count in (("train", 12), ("test", 4)):
        frame = pl.DataFrame({"text": [f"{split} text {n}" for n in range(count)], "label": [0, 1] * (count // 2)})
        frame.write_parquet(tmp_path / "zhou" / f"{split}.parquet")
    monkeypatch.setenv("GLASSFORMER_DATA", str(tmp_path))
    said = glassformer("train", "zhou", "--out", tmp_path / "model", "--json", *QUICK)
    assert said.document["labels"] == ["negative", "positive"]
    monkeypatch.delenv("GLASSFORMER_DATA")
    measured = glassformer("evaluate", tmp_path / "model", "zhou", "--data-dir", tmp_path, "--json").document
    assert (measured["data"]["rows"], len(measured["duel"]["baselines"])) == (4, 2)


OF_LANGUAGE_MODELS = shipped_recipes(PretrainingRecipe)


def loaded(name: str) -> AnyRecipe:
    return load_pretraining_recipe(name) if name in OF_LANGUAGE_MODELS else load_recipe(name)


def test_recipes_are_listed_and_each_loads() -> None:
    listed = glassformer("recipes", "--json").document["recipes"]
    assert {recipe["name"] for recipe in listed} == {*shipped_recipes(), *OF_LANGUAGE_MODELS}
    lines = glassformer("recipes").out.splitlines()
    for recipe, line in zip(listed, lines, strict=True):
        assert recipe["description"] == loaded(recipe["name"]).description
        assert line.split()[0] == recipe["name"]
        assert line.endswith(recipe["description"])


@pytest.mark.parametrize("name", [*shipped_recipes(), *OF_LANGUAGE_MODELS])
def test_one_recipe_is_shown_whole(name: str) -> None:
    file = (shipped_recipes() | OF_LANGUAGE_MODELS)[name]
    assert glassformer("recipes", name).out == file.read_text(encoding="utf-8")
    document = glassformer("recipes", name, "--json").document
    assert document == {"name": name, "recipe": json.loads(loaded(name).model_dump_json())}


def test_a_recipe_that_is_not_there() -> None:
    misused(glassformer("recipes", "nosuch"), "'nosuch'", "default")


_SETTING = r"(?<!glassformer\.)\b(validation|tokenizer|model|training)\.(\w+)"


def test_the_default_recipe_shows_every_setting_that_is_advised() -> None:
    root = Path(__file__).parents[2]
    guides = [*root.glob("docs/how-*/*.md"), *root.glob("docs/reference/*.md"), *root.glob("docs/tutorial/*.md")]
    places = [root / "README.md", *guides, *root.glob("src/glassformer/doctor/*.py")]
    sections = {name: type(getattr(Recipe(), name)).model_fields for name in ("validation", "tokenizer", "training")}
    sections["model"] = PRESETS["small"].__class__.model_fields
    named = {
        (section, key)
        for place in places
        for section, key in re.findall(_SETTING, place.read_text("utf-8"))
        if key in sections[section]
    }
    assert ("training", "class_weights") in named
    shown = glassformer("recipes", "default").out
    missing = {key for _, key in named if not re.search(rf"(^|# |, |or ){key} = ", shown, re.MULTILINE)}
    assert not missing


def test_the_default_recipe_holds_the_defaults() -> None:
    assert load_recipe("default").model_copy(update={"description": ""}) == load_recipe()
