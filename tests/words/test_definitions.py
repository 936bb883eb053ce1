from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.words.embed import in_layers

KNOWN = {"very", "big", "thing"}


def unknown_words(text: str) -> list[str]:
    return [word for word in text.split() if word not in KNOWN]


def resolved(wanted: dict[str, str], dictionary: Mapping[str, str], depth: int) -> list[list[str]]:
    layers = in_layers(wanted, define=dictionary.get, unknown_words=unknown_words, depth=depth)
    for layer in layers:
        for word, definition in layer.items():
            assert definition == (wanted | {key: dictionary[key] for key in dictionary if key not in wanted})[word]
    return [sorted(layer) for layer in layers]


def test_what_a_definition_needs_comes_before_it() -> None:
    dictionary = {"vast": "very enormous", "enormous": "very big", "space": "vast gap"}
    wanted = {"cosmos": "very vast space"}
    assert resolved(wanted, dictionary, 0) == [["cosmos"]]
    assert resolved(wanted, dictionary, 1) == [["vast"], ["space"], ["cosmos"]]
    assert resolved(wanted, dictionary, 2) == [["enormous"], ["vast"], ["space"], ["cosmos"]]


def test_wanted_words_need_each_other_and_keep_their_own_definitions() -> None:
    dictionary = {"b": "very very c", "c": "big"}
    assert resolved({"a": "very b", "b": "thing"}, dictionary, 2) == [["b"], ["a"]]


def test_circles_end() -> None:
    assert resolved({"a": "very b"}, {"b": "big a"}, 5) == [["b"], ["a"]]
    assert resolved({"a": "very a"}, {"a": "a"}, 5) == [["a"]]
    assert resolved({"a": "b", "b": "a"}, {}, 0) == [["b"], ["a"]]


def test_a_chain_may_be_longer_than_pythons_stack() -> None:
    chain = {f"w{number}": f"w{number + 1}" for number in range(2_000)}
    layers = resolved({"w0": chain["w0"]}, chain, 1_500)
    assert len(layers) == 1_501
    assert layers[-1] == ["w0"]


def test_nothing_wanted() -> None:
    assert in_layers({}, define=lambda _: None, unknown_words=unknown_words, depth=2) == []


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefgh"), max_size=3).map(" ".join)),
    st.integers(0, 4),
)
def test_every_word_is_learned_once_and_only_circles_leave_a_need_behind(words: dict[str, str], depth: int) -> None:
    wanted = dict(list(words.items())[:2])
    layers = in_layers(wanted, define=words.get, unknown_words=str.split, depth=depth)
    order = [word for layer in layers for word in layer]
    assert len(order) == len(set(order))
    assert set(wanted) <= set(order)
    number = {word: n for n, layer in enumerate(layers) for word in layer}
    for word in order:
        for need in words[word].split():
            if need in number and number[need] >= number[word]:
                assert reaches(need, word, words), f"{word} needs {need}, which is no circle"


def reaches(start: str, goal: str, words: Mapping[str, str]) -> bool:
    seen, todo = set[str](), [start]
    while todo:
        word = todo.pop()
        if word == goal:
            return True
        todo += [need for need in words.get(word, "").split() if need not in seen]
        seen |= set(words.get(word, "").split())
    return False


@pytest.mark.parametrize("depth", [0, 1])
def test_known_words_are_not_looked_up(depth: int) -> None:
    asked: list[str] = []

    def define(word: str) -> None:
        asked.append(word)

    in_layers({"a": "very big b"}, define=define, unknown_words=unknown_words, depth=depth)
    assert asked == ["b"] * depth
