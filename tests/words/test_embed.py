from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.arrays import IntArray
from glassformer.words.embed import (
    WordSpace,
    averages,
    embed_words,
    filled,
    map_of,
    nearest_words,
    rare_place,
    unknown_words,
)
from glassformer.words.embedding_map import FEWEST_WORDS, Vectors
from glassformer.words.new_words import word_space
from tests.words.samples import KNOWN, Definitions, definitions_of_known, trained_on_known


def space(kind: str = "word") -> WordSpace:
    return word_space(trained_on_known(kind))


def row(of: WordSpace, word: str) -> Vectors:
    (id_,) = of.tokenizer.word_ids([word])
    assert id_ is not None
    return of.embeddings[id_].double().numpy()


def test_averages_leave_out_what_is_unknown() -> None:
    table = torch.tensor([[9.0, 9.0], [8.0, 8.0], [7.0, 7.0], [1.0, 2.0], [3.0, 6.0]])
    found = averages([np.array([3, 1, 4]), np.array([4])], table)
    np.testing.assert_array_equal(found, [[2.0, 4.0], [3.0, 6.0]])


def test_without_a_map_it_is_the_average_of_the_definition() -> None:
    words = space()
    found = embed_words(words, {"gran": "aao, JGO and zzz!"}, None, None, depth=2)["gran"]
    np.testing.assert_allclose(found.vector, (row(words, "aao") + row(words, "jgo")) / 2)
    assert found.unknown == ("and", "zzz")


def test_unknown_words_are_learned_first() -> None:
    words = space()
    dictionary = Definitions({"gruff": "aao gleam", "gleam": "bbo ggo"})
    bbo, ggo, aao = (row(words, word) for word in ("bbo", "ggo", "aao"))
    deep = embed_words(words, {"gran": "cao gruff"}, dictionary, None, depth=2)
    assert list(deep) == ["gran"]
    np.testing.assert_allclose(
        deep["gran"].vector, (row(words, "cao") + (aao + (bbo + ggo) / 2) / 2) / 2, rtol=1e-6
    )  # the rows that are kept between layers are float32
    assert deep["gran"].unknown == ()
    flat = embed_words(words, {"gran": "cao gruff"}, dictionary, None, depth=0)
    np.testing.assert_allclose(flat["gran"].vector, row(words, "cao"))
    assert flat["gran"].unknown == ("gruff",)


def test_a_word_of_whose_definition_nothing_is_known_gets_no_embedding() -> None:
    found = embed_words(space(), {"gran": "some gruff", "gleam": "aao"}, Definitions({"gruff": "?"}), None, depth=2)
    assert list(found) == ["gleam"]


def test_a_map_is_given_what_the_model_makes_of_the_definition() -> None:
    words = space()
    given_: list[Vectors] = []

    def mapped(contexts: Vectors) -> Vectors:
        given_.append(contexts)
        return contexts * 0.001

    found = embed_words(words, {"gran": "aao bbo", "gleam": "cao"}, None, mapped, depth=2)
    contexts = words.read(words.tokenizer.encode(["aao bbo", "cao"]), words.embeddings)
    np.testing.assert_array_equal(given_[0], contexts)
    np.testing.assert_array_equal(found["gleam"].bare, contexts[1] * 0.001)
    usual = float(words.embeddings.norm(dim=1).median())
    assert np.linalg.norm(found["gleam"].vector) == pytest.approx(usual)
    assert found["gleam"].vector @ row(words, "cao") > 0


def test_filled_by_hand() -> None:
    vectors = np.array([[3.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    means = np.array([[7.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -2.0], [1.0, 0.0, 0.0]])
    # 3² + 4² = 5²; longer than 5 already; all from the mean; nothing at right angles to add
    expected = [[3.0, 4.0, 0.0], [6.0, 0.0, 0.0], [0.0, 0.0, -5.0], [3.0, 0.0, 0.0]]
    np.testing.assert_allclose(filled(vectors, means, 5.0), expected)


@given(st.floats(0.01, 20), st.integers(0, 1_000))
def test_filling_keeps_what_the_map_said(length: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, means = rng.normal(size=(2, 4, 7))
    full = filled(vectors, means, length)
    size = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(np.linalg.norm(full, axis=1), np.maximum(size, length), rtol=1e-9)
    np.testing.assert_allclose((full * vectors).sum(axis=1), size**2, rtol=1e-9)


def test_where_the_model_predicts_with_them_new_words_stand_where_rare_ones_do() -> None:
    words = replace(space(), predicts=True)
    place = rare_place(words.embeddings.double().numpy()[list(words.by_frequency().values())])
    assert place is not None
    average = embed_words(words, {"gran": "aao bbo"}, None, None, depth=2)["gran"]
    np.testing.assert_array_equal(average.bare, (row(words, "aao") + row(words, "bbo")) / 2)
    np.testing.assert_allclose(average.vector, place(average.bare[None])[0])
    mapped = embed_words(words, {"gran": "aao bbo"}, None, lambda contexts: contexts * 0.001, depth=2)["gran"]
    np.testing.assert_allclose(mapped.vector, place(mapped.bare[None])[0])  # and is not filled up


def test_where_words_are_few_they_stay_where_they_are() -> None:
    words = replace(space(), predicts=True)
    few = replace(words, learned=frozenset(KNOWN[FEWEST_WORDS - 1 :]))
    assert len(few.by_frequency()) == FEWEST_WORDS - 1
    found = embed_words(few, {"gran": "aao bbo"}, None, None, depth=2)["gran"]
    np.testing.assert_array_equal(found.vector, found.bare)


def test_the_map_is_fitted_on_known_words_with_definitions_alone() -> None:
    words, dictionary = space(), definitions_of_known()
    seen: list[list[IntArray]] = []

    def read(rows: list[IntArray], embeddings: torch.Tensor) -> Vectors:
        seen.append(rows)
        return words.read(rows, embeddings)

    dictionary["unheard"] = "aao bbo"
    dictionary["aao"] = "nothing that is known"
    watched = WordSpace(tokenizer=words.tokenizer, embeddings=words.embeddings, read=read)  # type: ignore[arg-type]
    fitted = map_of(watched, dictionary)
    assert fitted is not None
    assert fitted.report.words == len(seen[0]) == len(KNOWN) - 1
    learned = words.with_words({"unheard": np.ones(12)})
    again = map_of(learned, dictionary)
    assert again is not None
    assert again.report == fitted.report


def test_too_few_words_for_a_map() -> None:
    few = Definitions(list(definitions_of_known().items())[: FEWEST_WORDS - 1])
    assert map_of(space(), few) is None
    same = Definitions(dict.fromkeys(KNOWN, "aao bbo"))
    assert map_of(space(), same) is None


def test_the_most_frequent_words_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.words.embed.MOST_WORDS", 60)
    words = space()
    fitted = map_of(words, definitions_of_known())
    assert fitted is not None
    assert fitted.report.words == 60
    first = [word for word, id_ in words.tokenizer.words().items() if id_ < 63]
    alone = map_of(words, Definitions({word: definitions_of_known()[word] for word in first}))
    assert alone is not None
    assert alone.report == fitted.report


def test_nearest_words() -> None:
    words = space()
    vectors = [row(words, "cdo") * 3, -row(words, "aao")]
    first, second = nearest_words(words, vectors, count=4)
    assert first[0][0] == "cdo"
    assert first[0][1] == pytest.approx(1.0)
    assert len(first) == len(second) == 4
    assert [cosine for _, cosine in second] == sorted((cosine for _, cosine in second), reverse=True)
    assert "aao" not in dict(second)


def test_unknown_words_are_words() -> None:
    assert unknown_words(space().tokenizer, "aao, Zzz (zzz) – 17 yyy's") == ["zzz", "17", "yyy's"]


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_pieces_can_read_every_definition(kind: str) -> None:
    words = space(kind)
    found = embed_words(words, {"gaga": "ab baba", "haha": "gaga aao"}, None, None, depth=2)
    assert {word: embedded.unknown for word, embedded in found.items()} == {"gaga": (), "haha": ()}
