"""Rows of several inputs: pre-training on their texts, other weights to start from, and new words."""

import json
from pathlib import Path

import pytest
import torch

from glassformer.data.inputs import SEPARATOR
from glassformer.data.sources import read_sources
from glassformer.models.parts import embedding_table
from glassformer.prediction.model_folder import CLASSIFIER, LANGUAGE_MODEL, load_model
from glassformer.training.preparation import prepare
from glassformer.training.recipe import load_recipe
from tests.cli.terminal import QUICK, glassformer
from tests.cli.test_inputs import HEADER, asked, sold
from tests.trained import write_csv

ALONE = (*QUICK, "--set", "model.counting=none")
ON = (*QUICK[2:], "--set", "model.counting=none")  # from weights, which say the size
PAIRS = ("--text", "question", "--text", "answer")


@pytest.fixture(scope="module")
def pairs_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("pairs") / "asked.csv", asked(230), ("question", "answer", "label"))


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    (folder / "texts.txt").write_text("\n".join(f"is the lamp red {n}\nit is the good lamp" for n in range(40)))
    flags = ("--objective", "masked", "--preset", "tiny", *QUICK[2:6], "--set", "tokenizer.kind=word")
    said = glassformer("pretrain", folder / "texts.txt", "--out", folder / "model", *flags)
    assert said.code == 0, said.err
    return folder / "model"


def test_each_text_of_a_row_is_a_text_to_pretrain_on(pairs_table: Path, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("is it violet\nit is violet\nit is red\n")
    more = ("--pretrain", "1s", "--unlabelled", tmp_path / "more.txt", "--set", "tokenizer.min_frequency=1")
    said = glassformer("train", pairs_table, "--out", tmp_path / "m", *PAIRS, *more, *ALONE)
    assert said.code == 0, said.err
    assert "1 unlabelled text is also a validation text and was left out" in said.err, "an answer of a row"
    assert "pre-training on 416 texts (2 without labels)" in said.err, "two for each of the 207 rows"
    trained = load_model(tmp_path / "m", CLASSIFIER)
    assert trained.config.data["pretraining"]["texts"] == 416
    assert "violet" in trained.tokenizer.vocabulary()
    assert trained.tokenizer.separator_id == trained.config.vocab_size - 1
    assert glassformer("predict", tmp_path / "m", json.dumps({"question": "is it red", "answer": "no"})).code == 0


def test_the_minutes_may_be_spent_on_pretraining(pairs_table: Path, tmp_path: Path) -> None:
    said = glassformer("train", pairs_table, "--out", tmp_path / "m", *PAIRS, "--minutes", "0.0001", "--preset", "tiny")
    assert said.code == 0, said.err
    trained = load_model(tmp_path / "m", CLASSIFIER)
    assert trained.metrics["time_plan"]["settings"] == {"training.epochs": 0}
    assert trained.config.model.model_dump()["design"] == "several-texts"
    source = trained.config.remembered.read_as
    assert source is not None
    recipe = load_recipe(preset="tiny")
    own = prepare(read_sources(source, recipe.validation, None), recipe, minutes=60).own_texts
    assert own is not None
    assert len(own.training) == 460


def test_rows_start_from_a_language_model(language_model: Path, pairs_table: Path, tmp_path: Path) -> None:
    kept = (*ON, "--learning-rate", "1e-9")  # the weights stay as they were copied
    said = glassformer("train", pairs_table, "--out", tmp_path / "m", *PAIRS, "--init", language_model, *kept)
    assert said.code == 0, said.err
    trained, begun = load_model(tmp_path / "m", CLASSIFIER), load_model(language_model, LANGUAGE_MODEL)
    words, old = embedding_table(trained.model), embedding_table(begun.model)
    assert words is not None
    assert old is not None
    assert len(words) == len(old) + 1
    assert torch.allclose(words[: len(old)], old, atol=1e-4)
    assert trained.tokenizer.vocabulary()[SEPARATOR] == len(old)


def test_rows_start_from_a_model_of_one_text(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "sold.csv", sold(230), HEADER)
    assert glassformer("train", table, "--text", "review", "--out", tmp_path / "one", *ALONE).code == 0
    more = ("--columns", "price,shop", "--init", tmp_path / "one")
    said = glassformer("train", table, "--out", tmp_path / "m", *more, *ON)
    assert said.code == 0, said.err
    assert f"weights: {tmp_path / 'one'}, the head too" in said.err
    known = load_model(tmp_path / "one", CLASSIFIER).config.vocab_size
    inputs = load_model(tmp_path / "m", CLASSIFIER).config.inputs
    assert inputs is not None
    assert load_model(tmp_path / "m", CLASSIFIER).config.vocab_size == known + len(inputs.tokens)
    other = ("--columns", "shop", "--init", tmp_path / "m")
    assert (
        "by their names; leave out --text and --columns"
        in glassformer("train", table, "--out", tmp_path / "o", *other).err
    )


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_rows_learn_words(kind: str, pairs_table: Path, tmp_path: Path) -> None:
    flags = (*PAIRS, *ALONE, "--set", f"tokenizer.kind={kind}")
    assert glassformer("train", pairs_table, "--out", tmp_path / "m", *flags).code == 0
    said = glassformer("learn-word", tmp_path / "m", "crimson", "--definition", "red", "--out", tmp_path / "1")
    assert said.code == 0, said.err
    assert f"""next: glassformer predict {tmp_path / "1"} '{{"question": """ in said.err
    said = glassformer("learn-word", tmp_path / "1", "azure", "--definition", "blue", "--out", tmp_path / "2")
    assert said.code == 0, said.err
    row = {"question": "is it red", "answer": "it is blue"}
    first, second, third = (
        glassformer("predict", tmp_path / name, "--json", json.dumps(row)).document["answers"][0]["probabilities"]
        for name in ("m", "1", "2")
    )
    assert first == second == third, "new words change no answer to a row without them"
    trained = load_model(tmp_path / "2", CLASSIFIER)
    assert (
        getattr(trained.config.model, "separator", None)
        == trained.tokenizer.separator_id
        == trained.config.vocab_size - 3
    )
    if kind == "word":  # a piece of a definition begins without the space that is part of a word
        of_words = {"question": "is it crimson", "answer": "it is azure"}
        found = glassformer("predict", tmp_path / "2", "--json", json.dumps(of_words)).document["answers"][0]
        assert found["probabilities"] == pytest.approx(third, abs=1e-6), "the average of a definition of one word"
