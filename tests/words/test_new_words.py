import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glassformer.errors import UsageError
from glassformer.models.build import build_model
from glassformer.models.published.vinh_mlp import VinhMLPConfig
from glassformer.prediction.model_folder import NewWord, TrainedModel, load_model_folder, save_model_folder
from glassformer.prediction.predictor import Predictor
from glassformer.words.new_words import Entry, Lesson, learn_words, save_lesson, word_space
from tests.words.samples import KNOWN, SHAPE, definitions_of_known, trained_on_known

KINDS = ["word", "wordpiece", "bpe", "unigram"]
ENTRIES = [Entry(word="Gagaga", definition="aao bbo"), Entry(word="hahi", definition="cao ddo aao")]


def lesson(kind: str = "word", **settings: Any) -> tuple[TrainedModel, Lesson]:
    trained = trained_on_known(kind, **settings)
    return trained, learn_words(trained, ENTRIES, definitions_of_known())


LESSONS = {kind: lesson(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.lists(st.sampled_from([*KNOWN, "gagagas", "hah", "xy", "é", "!"])), min_size=1, max_size=5))
def test_texts_without_the_words_get_the_same_bits(kind: str, texts: list[list[str]]) -> None:
    before, after = (Predictor(one) for one in (LESSONS[kind][0], LESSONS[kind][1].trained))
    joined = [" ".join(words) for words in texts]
    np.testing.assert_array_equal(before.logits(joined), after.logits(joined))


@pytest.mark.parametrize("kind", KINDS)
def test_texts_with_the_words_are_read_differently(kind: str) -> None:
    before, after = (Predictor(one) for one in (LESSONS[kind][0], LESSONS[kind][1].trained))
    assert (before.logits(["aao GAGAGA bbo"]) != after.logits(["aao GAGAGA bbo"])).all()


def test_the_old_model_stays_as_it_is() -> None:
    fresh, (trained, found) = trained_on_known(), LESSONS["word"]
    assert trained.config == fresh.config
    assert trained.tokenizer.vocabulary() == fresh.tokenizer.vocabulary()
    for name, tensor in trained.model.state_dict().items():
        assert torch.equal(tensor, fresh.model.state_dict()[name])
        kept = found.trained.model.state_dict()[name]
        assert torch.equal(kept[: len(tensor)] if name == "embedding.weight" else kept, tensor)


@pytest.mark.parametrize("pooling", ["first", "max", "attention", "flatten"])
def test_other_shapes(pooling: str) -> None:
    shape = SHAPE.model_validate(SHAPE.model_dump() | {"pooling": pooling, "positions": "learned", "norm": "batch"})
    trained, found = lesson(model=shape)
    texts = ["aao bbo hah", "cao"]
    np.testing.assert_array_equal(Predictor(trained).logits(texts), Predictor(found.trained).logits(texts))


def test_the_lesson_says_what_was_done() -> None:
    _, found = LESSONS["word"]
    assert found.trained.config.new_words == (
        NewWord(word="gagaga", definition="aao bbo", source="given", method="map"),
        NewWord(word="hahi", definition="cao ddo aao", source="given", method="map"),
    )
    assert found.trained.config.vocab_size == found.trained.tokenizer.vocab_size == 3 + len(KNOWN) + 2
    assert found.map is not None
    assert found.map.words == len(KNOWN)
    assert [len(one.nearest) for one in found.words] == [5, 5]
    assert {word for one in found.words for word, _ in one.nearest} <= set(KNOWN)
    assert found.left_out == {}


def test_without_a_dictionary_the_average_is_taken() -> None:
    trained = trained_on_known()
    found = learn_words(trained, ENTRIES)
    assert found.map is None
    assert [new.method for new in found.trained.config.new_words] == ["average", "average"]
    ids = trained.tokenizer.word_ids(["aao", "bbo"])
    table = found.trained.model.state_dict()["embedding.weight"]
    torch.testing.assert_close(table[-2], table[ids].mean(dim=0))


def test_definitions_are_looked_up() -> None:
    dictionary = definitions_of_known() | {"gran": "aao bbo", "gruff": "gran"}
    dictionary = type(definitions_of_known())(dictionary)
    found = learn_words(trained_on_known(), [Entry(word="Gruff")], dictionary)
    assert found.trained.config.new_words == (NewWord(word="gruff", definition="gran", source="a test", method="map"),)
    assert found.words[0].unknown == ()
    assert found.trained.config.vocab_size == 3 + len(KNOWN) + 1  # "gran" was learned for the reading alone


def test_what_cannot_be_learned_is_left_out_by_name() -> None:
    others = {"aao": "bbo", "well-made": "aao", "gruff": None, "gran": "zz zzz", "HAHI": "aao"}
    entries = [*ENTRIES, *(Entry(word=word, definition=text) for word, text in others.items())]
    found = learn_words(trained_on_known(), entries, definitions_of_known())
    assert [one.new.word for one in found.words] == ["gagaga", "hahi"]
    assert found.left_out == {
        "aao": "in the vocabulary already",
        "well-made": "not one word",
        "gruff": "it has no definition in a test",
        "gran": "no word of its definition is known",
        "HAHI": "it is asked for twice; its first definition is taken",
    }
    with pytest.raises(UsageError, match=r"no word to learn \('aao': in the vocabulary already\)"):
        learn_words(trained_on_known(), [Entry(word="aao", definition="bbo")])


def test_words_are_learned_after_words() -> None:
    _, first = LESSONS["word"]
    second = learn_words(first.trained, [Entry(word="later", definition="hahi aao")], definitions_of_known())
    assert [new.word for new in second.trained.config.new_words] == ["gagaga", "hahi", "later"]
    assert second.map == first.map  # words without a true embedding do not teach the map
    with pytest.raises(UsageError, match="'hahi': in the vocabulary already"):
        learn_words(first.trained, ENTRIES[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_lesson_is_a_model_folder_of_its_own(kind: str, tmp_path: Path) -> None:
    trained, found = LESSONS[kind]
    save_model_folder(tmp_path / "old", trained, card="the old one")
    before = {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()}
    save_lesson(found, tmp_path / "new")
    loaded = load_model_folder(tmp_path / "new")
    assert loaded.config == found.trained.config
    texts = ["aao gagaga", "Hahi, bbo"]
    np.testing.assert_array_equal(Predictor(loaded).logits(texts), Predictor(found.trained).logits(texts))
    assert json.loads((tmp_path / "new/config.json").read_text())["new_words"][0]["definition"] == "aao bbo"
    method = "average" if kind == "unigram" else "map"  # whose pieces make up too few of the words
    assert f"- hahi (given, {method}): cao ddo aao" in (tmp_path / "new/README.md").read_text()
    assert {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()} == before
    with pytest.raises(UsageError, match="nothing is ever overwritten"):
        save_lesson(found, tmp_path / "old")


def test_models_that_cannot_learn_words() -> None:
    trained = trained_on_known()
    config = VinhMLPConfig(max_seq_len=7)
    other = build_model(config, trained.config.vocab_size, 2)
    published = dataclasses.replace(trained, model=other, config=trained.config.model_copy(update={"model": config}))
    with pytest.raises(UsageError, match="'vinh-mlp': only our own design"):
        word_space(published)
    shape = SHAPE.model_validate(SHAPE.model_dump() | {"embedding": "one-hot", "d_model": 80})
    with pytest.raises(UsageError, match="one-hot"):
        word_space(trained_on_known(model=shape))
    with pytest.raises(UsageError, match="'character' has no words"):
        word_space(trained_on_known("character"))
    with pytest.raises(UsageError, match="'byte' has no words"):
        word_space(trained_on_known("byte"))
