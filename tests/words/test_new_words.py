import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.documents import read_documents
from glassformer.data.known import resolve
from glassformer.data.tokenizers import START_ID
from glassformer.errors import UsageError
from glassformer.models.build import build_model
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.published.vinh import VinhMLPConfig
from glassformer.prediction.folder_config import NewWord
from glassformer.prediction.generation import TextGenerator
from glassformer.prediction.model_folder import CLASSIFIER, LANGUAGE_MODEL, TrainedModel, load_model, save_model
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.sampling import SamplingConfig
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import load_pretraining_recipe
from glassformer.words.embed import rare_place
from glassformer.words.new_words import Entry, Lesson, check_new, learn_words, save_lesson, word_space
from tests.fits import quick as quick
from tests.prediction.keeping import keeping
from tests.prediction.language import Recites
from tests.words.samples import (
    CAUSAL,
    KNOWN,
    MASKED,
    SHAPE,
    definitions_of_known,
    language_model_of_known,
    trained_on_known,
)

KINDS = ["word", "wordpiece", "bpe", "unigram"]
ENTRIES = [Entry(word="Gagaga", definition="aao bbo"), Entry(word="hahi", definition="cao ddo aao")]


@cache
def lesson_of(kind: str) -> tuple[TrainedModel, Lesson[TrainedModel]]:
    return lesson(kind)


def lesson(kind: str = "word", **settings: Any) -> tuple[TrainedModel, Lesson[TrainedModel]]:
    trained = trained_on_known(kind, **settings)
    return trained, learn_words(trained, ENTRIES, definitions_of_known())


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.lists(st.sampled_from([*KNOWN, "gagagas", "hah", "xy", "é", "!"])), min_size=1, max_size=5))
def test_texts_without_the_words_get_the_same_bits(kind: str, texts: list[list[str]]) -> None:
    before, after = (Predictor(trained) for trained in (lesson_of(kind)[0], lesson_of(kind)[1].trained))
    joined = [" ".join(words) for words in texts]
    np.testing.assert_array_equal(before.logits(joined), after.logits(joined))


@pytest.mark.parametrize("kind", KINDS)
def test_texts_with_the_words_are_read_differently(kind: str) -> None:
    before, after = (Predictor(trained) for trained in (lesson_of(kind)[0], lesson_of(kind)[1].trained))
    assert (before.logits(["aao GAGAGA bbo"]) != after.logits(["aao GAGAGA bbo"])).all()


def test_the_old_model_stays_as_it_is() -> None:
    fresh, (trained, found) = trained_on_known(), lesson_of("word")
    assert trained.config == fresh.config
    assert trained.tokenizer.vocabulary() == fresh.tokenizer.vocabulary()
    for name, tensor in trained.model.state_dict().items():
        assert torch.equal(tensor, fresh.model.state_dict()[name])
        kept = found.trained.model.state_dict()[name]
        assert torch.equal(kept[: len(tensor)] if name == "trunk.embedding.weight" else kept, tensor)


@pytest.mark.parametrize("pooling", ["first", "max", "attention", "flatten"])
def test_other_shapes(pooling: str) -> None:
    shape = SHAPE.model_validate(SHAPE.model_dump() | {"pooling": pooling, "positions": "learned", "norm": "batch"})
    trained, found = lesson(model=shape)
    texts = ["aao bbo hah", "cao"]
    np.testing.assert_array_equal(Predictor(trained).logits(texts), Predictor(found.trained).logits(texts))


def test_the_lesson_says_what_was_done() -> None:
    _, found = lesson_of("word")
    assert found.trained.config.new_words == (
        NewWord(word="gagaga", definition="aao bbo", source="given", method="map"),
        NewWord(word="hahi", definition="cao ddo aao", source="given", method="map"),
    )
    assert found.trained.config.vocab_size == found.trained.tokenizer.vocab_size == 3 + len(KNOWN) + 2
    assert found.map is not None
    assert found.map.words == len(KNOWN)
    assert [len(lesson.nearest) for lesson in found.words] == [5, 5]
    assert {word for lesson in found.words for word, _ in lesson.nearest} <= set(KNOWN)
    assert found.left_out == {}


def test_without_a_dictionary_the_average_is_taken() -> None:
    trained = trained_on_known()
    found = learn_words(trained, ENTRIES)
    assert found.map is None
    assert [new.method for new in found.trained.config.new_words] == ["average", "average"]
    ids = trained.tokenizer.word_ids(["aao", "bbo"])
    table = found.trained.model.state_dict()["trunk.embedding.weight"]
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
    assert [lesson.new.word for lesson in found.words] == ["gagaga", "hahi"]
    assert found.left_out == {
        "aao": "in the vocabulary already",
        "well-made": "not one word: letters and digits without a space or hyphen",
        "gruff": "it has no definition in a test",
        "gran": "no word of its definition is known",
        "HAHI": "it is named twice; the first definition is used",
    }
    with pytest.raises(UsageError, match=r"no word to learn \('aao': in the vocabulary already\)"):
        learn_words(trained_on_known(), [Entry(word="aao", definition="bbo")])
    with pytest.raises(
        UsageError, match=r"'gran': no word of its definition is known; name a dictionary with `dictionary=`"
    ):
        learn_words(trained_on_known(), [Entry(word="gran", definition="zz zzz")])


def test_words_are_learned_after_words() -> None:
    _, first = lesson_of("word")
    second = learn_words(first.trained, [Entry(word="later", definition="hahi aao")], definitions_of_known())
    assert [new.word for new in second.trained.config.new_words] == ["gagaga", "hahi", "later"]
    assert second.map == first.map  # words without a true embedding do not teach the map
    with pytest.raises(UsageError, match="'hahi': in the vocabulary already"):
        learn_words(first.trained, ENTRIES[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_lesson_is_a_model_folder_of_its_own(kind: str, tmp_path: Path) -> None:
    trained, found = lesson_of(kind)
    save_model(tmp_path / "old", trained, card="the old one")
    before = {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()}
    save_lesson(found, tmp_path / "new", card="the old one\n")
    loaded = load_model(tmp_path / "new", CLASSIFIER)
    assert loaded.config == found.trained.config
    texts = ["aao gagaga", "Hahi, bbo"]
    np.testing.assert_array_equal(Predictor(loaded).logits(texts), Predictor(found.trained).logits(texts))
    assert json.loads((tmp_path / "new/config.json").read_text())["new_words"][0]["definition"] == "aao bbo"
    method = "average" if kind == "unigram" else "map"  # whose pieces make up too few of the words
    card = (tmp_path / "new/README.md").read_text()
    assert card.startswith("the old one\n\n## Words learned after training\n")
    assert card.endswith(f"- hahi (given, {method}): cao ddo aao\n")
    assert {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()} == before
    with pytest.raises(UsageError, match="never overwritten"):
        save_lesson(found, tmp_path / "old", card="")
    (tmp_path / "lost").symlink_to("gone")
    with pytest.raises(UsageError, match="lost is a link that leads nowhere"):
        check_new(tmp_path / "lost")


def test_a_card_goes_on(tmp_path: Path) -> None:
    _, first = lesson_of("word")
    second = learn_words(first.trained, [Entry(word="later", definition="hahi aao")])
    save_lesson(first, tmp_path / "first", card="# It answers\n")
    save_lesson(second, tmp_path / "second", card=(tmp_path / "first/README.md").read_text())
    card = (tmp_path / "second/README.md").read_text()
    assert card.count("## Words learned") == 1
    assert [line.split()[1] for line in card.splitlines() if line.startswith("- ")] == ["gagaga", "hahi", "later"]


@pytest.mark.parametrize(("kind", "model"), [*((kind, CAUSAL) for kind in KINDS), ("word", MASKED)])
def test_a_language_model_learns_words_too(kind: str, model: LanguageModelConfig, tmp_path: Path) -> None:
    trained = language_model_of_known(kind, model=model)
    save_model(tmp_path / "old", trained, card="# It writes\n")
    before = {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()}
    found = learn_words(trained, ENTRIES, definitions_of_known())
    save_lesson(found, tmp_path / "new", card="# It writes\n")
    assert {file.name: file.read_bytes() for file in (tmp_path / "old").iterdir()} == before
    loaded = load_model(tmp_path / "new", LANGUAGE_MODEL)
    assert loaded.config == found.trained.config
    assert loaded.config.model == model
    assert loaded.config.vocab_size == trained.config.vocab_size + 2
    assert [new.word for new in loaded.config.new_words] == ["gagaga", "hahi"]
    assert loaded.tokenizer.word_ids(["gagaga", "hahi"]) == [trained.config.vocab_size, trained.config.vocab_size + 1]
    again = learn_words(loaded, [Entry(word="later", definition="hahi aao")], definitions_of_known())
    assert [new.word for new in again.trained.config.new_words] == ["gagaga", "hahi", "later"]
    assert again.map == found.map
    assert (again.map is None) == (kind == "unigram")


def test_a_language_models_new_words_stand_where_rare_words_do() -> None:
    trained = language_model_of_known()
    table = trained.model.state_dict()["trunk.embedding.weight"].double().numpy()
    place = rare_place(table[3:])  # the words that were trained, the most frequent first
    assert place is not None
    for dictionary in (None, definitions_of_known()):
        found = learn_words(trained, ENTRIES, dictionary)
        rows = found.trained.model.state_dict()["trunk.embedding.weight"][-2:].double().numpy()
        np.testing.assert_allclose(rows @ place.direction, place.place, rtol=1e-5)
    later = learn_words(found.trained, [Entry(word="later", definition="hahi aao")])
    row = later.trained.model.state_dict()["trunk.embedding.weight"][-1].double().numpy()
    assert row @ place.direction == pytest.approx(place.place, rel=1e-5)  # learned words do not shift it


@pytest.mark.slow
def test_a_new_word_is_said_about_as_often_as_a_rare_one(tmp_path: Path) -> None:
    sizes = {"d_model": 24, "n_layers": 1, "d_ff": 32, "max_seq_len": 32}
    overrides: dict[str, Any] = {f"model.{name}": size for name, size in sizes.items()}
    overrides |= {"training.max_steps": 120, "training.batch_size": 16, "tokenizer.kind": "word"}
    recipe = load_pretraining_recipe(preset="tiny", overrides=overrides)
    trained = pretrain(read_documents("polarity"), recipe, out=tmp_path / "lm")
    definitions = ["the", "the acting is dull", "good or great", "it is not the story"]
    words = [Entry(word=f"new{number}", definition=text) for number, text in enumerate(definitions)]
    model = learn_words(trained, words).trained.model
    texts = trained.tokenizer.encode(resolve("polarity", "test").frame["text"].to_list()[:100])
    total, places = torch.zeros(trained.config.vocab_size + 4), 0
    with torch.inference_mode():
        for ids in texts:
            read = torch.tensor([[START_ID, *ids]])
            total += model(read, torch.ones_like(read, dtype=torch.bool))[0].softmax(dim=1).sum(dim=0)
            places += read.shape[1]
    said = (total / places).numpy()
    known = list(word_space(trained).by_frequency().values())
    rare = float(np.median(said[known[len(known) // 2 :]]))
    assert rare / 10 < said[-4:].min()
    assert said[-4:].max() < 10 * rare


@pytest.mark.parametrize("kind", KINDS)
def test_it_writes_the_new_word_as_it_is_spelled(kind: str) -> None:
    tokenizer = learn_words(language_model_of_known(kind), ENTRIES).trained.tokenizer
    prompt = "aao gagaga bbo"
    read = tokenizer.encode([prompt, f"{prompt} hahi gagaga"])
    writer = TextGenerator(Recites(read[1].tolist(), tokenizer.vocab_size), tokenizer, max_seq_len=50)
    (written,) = writer.complete([prompt], SamplingConfig(max_tokens=2, temperature=0))
    assert written.text == " hahi gagaga"
    assert written.token_ids == read[1][len(read[0]) :].tolist()


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


def test_kept_training_texts_are_read_with_the_new_words() -> None:
    texts = ("aao gagaga", "aao bbo")
    trained = keeping(trained_on_known(), texts=texts, labels=(0, 1))
    larger = learn_words(trained, ENTRIES, definitions_of_known()).trained
    assert trained.kept is not None
    assert larger.kept is not None
    before, after = trained.kept().vectors, larger.kept().vectors
    assert before is not None
    assert after is not None
    assert larger.kept().texts == texts
    np.testing.assert_array_equal(before[1], after[1])
    assert (before[0] != after[0]).any()
