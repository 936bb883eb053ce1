"""Words that are added to a vocabulary, and all other texts, which must not notice."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.errors import UsageError

TEXTS = [
    "the plot is thin, but I loved it",
    "it's an enjoyable film; don't see it again",
    "unstable tables enable it",
] * 4
NOT_ONE = "not one word: letters and digits without a space or hyphen"
WITH_WORDS = ("word", "wordpiece", "bpe", "unigram")
FRAGMENTS = ["flabber", "Flabber", "un", "ed", "s", " ", "  ", "'", "-", "_", ",", "the", "plot", "é", "9", "able"]


def trained(kind: str, **settings: object) -> TextTokenizer:
    config = {"kind": kind, "min_frequency": 1, "vocab_size": 380} | settings
    return TextTokenizer.train(TEXTS, TokenizerConfig.model_validate(config))


OLD = {kind: trained(kind) for kind in WITH_WORDS}
NEW = {kind: old.with_words(["Flabber", "gasted"]) for kind, old in OLD.items()}


def stands_alone(text: str, kind: str) -> bool:
    """Whether "flabber" is a word of the text: where words are whole an apostrophe joins, beside pieces "_" does."""
    if kind == "word":
        return "flabber" in re.findall(r"[a-zé0-9]+(?:'[a-zé]+)*|\S", text.lower())
    return re.search(r"(?<!\w)flabber(?!\w)", text.lower()) is not None


@pytest.mark.parametrize("kind", WITH_WORDS)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=9).map("".join))
def test_only_texts_with_the_word_are_read_differently(kind: str, text: str) -> None:
    before, after = OLD[kind].encode_with_offsets(text), NEW[kind].encode_with_offsets(text)
    if stands_alone(text, kind):
        assert OLD[kind].vocab_size in after[0]
    else:
        assert after == before


@pytest.mark.parametrize("kind", WITH_WORDS)
@given(st.text(max_size=25))
def test_any_other_text_is_encoded_as_before(kind: str, text: str) -> None:
    assert NEW[kind].encode_with_offsets(text) == OLD[kind].encode_with_offsets(text)


@pytest.mark.parametrize("kind", WITH_WORDS)
def test_new_words_get_the_last_ids_in_any_case_and_survive_saving(kind: str, tmp_path: Path) -> None:
    size = OLD[kind].vocab_size
    assert NEW[kind].vocab_size == size + 2
    NEW[kind].save(tmp_path / "tokenizer.json")
    for tokenizer in (NEW[kind], TextTokenizer.load(tmp_path / "tokenizer.json")):
        assert tokenizer.word_ids(["flabber", "FLABBER", "gasted", "flab"]) == [size, size, size + 1, None]
        assert tokenizer.encode(["gasted"])[0].tolist() == [size + 1]
        assert [id_ for id_ in tokenizer.encode(["The FLABBER, gasted; plot"])[0] if id_ >= size] == [size, size + 1]
    again = NEW[kind].with_words(["thunderstruck"])
    assert again.word_ids(["flabber", "gasted", "thunderstruck"]) == [size, size + 1, size + 2]


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_the_words_beside_a_new_one_are_read_as_they_were(kind: str) -> None:
    ids = NEW[kind].encode(["the plot flabber the plot"])[0].tolist()
    place = ids.index(OLD[kind].vocab_size)
    assert ids[:place] == OLD[kind].encode(["the plot"])[0].tolist()
    assert ids[place + 1 :] == OLD[kind].encode(["x the plot"])[0].tolist()[len(OLD[kind].encode(["x"])[0]) :]


def test_a_tokenizer_with_case_keeps_it() -> None:
    tokenizer = trained("word", lowercase=False).with_words(["Flabber"])
    assert tokenizer.word_ids(["Flabber"]) == [tokenizer.vocab_size - 1]
    assert tokenizer.word_ids(["flabber"]) == [None]


@pytest.mark.parametrize("kind", WITH_WORDS)
def test_what_cannot_be_added_is_refused_by_name(kind: str) -> None:
    asked = ["it", "well-made", "two words", "", "!", "_", "fine"]
    reasons = OLD[kind].refusals(asked)
    if kind != "unigram":  # which knows "it" by its letters
        assert reasons.pop("it") == "in the vocabulary already"
    assert {word: reasons.get(word) for word in asked[1:6]} == dict.fromkeys(asked[1:6], NOT_ONE)
    assert "fine" not in reasons
    with pytest.raises(UsageError, match="'well-made' cannot be added to the vocabulary: not one word"):
        OLD[kind].with_words(["fine", "well-made"])
    assert NEW[kind].refusals(["Gasted"]) == {"Gasted": "in the vocabulary already"}
    with pytest.raises(UsageError):
        OLD[kind].with_words(["fine", "Fine"])


def test_a_piece_of_other_words_is_no_word() -> None:
    tokenizer = OLD["bpe"]
    assert "able" in tokenizer.vocabulary()
    assert tokenizer.refusals(["able"]) == {"able": "in the vocabulary as a piece of other words"}


def test_words_that_are_cut_into_pieces_are_named() -> None:
    texts = ["the cat sat on the mat"] * 9
    pieces = TextTokenizer.train(texts, TokenizerConfig(kind="bpe", vocab_size=300, min_frequency=2))
    assert pieces.words_in_pieces("the zebra, the Cat and zebra!") == ["zebra", "and"]
    words = TextTokenizer.train(texts, TokenizerConfig(kind="word", min_frequency=2))
    assert words.words_in_pieces("the zebra, the cat") == [], "unknown, not in pieces"


def test_characters_have_no_words() -> None:
    with pytest.raises(UsageError, match="cannot all be words of their own"):
        trained("character").with_words(["flabber"])


def test_the_words_of_a_vocabulary() -> None:
    everything = {"the", "plot", "is", "thin", "but", "i", "loved", "it", "it's", "an", "enjoyable", "film", "don't"}
    everything |= {"see", "again", "unstable", "tables", "enable"}
    assert set(OLD["word"].words()) == everything
    assert set(NEW["word"].words()) == everything | {"flabber", "gasted"}
    pieces = OLD["bpe"].words()
    assert "it" in pieces
    assert pieces["it"] == OLD["bpe"].vocabulary()["Ġit"]
    for kind in WITH_WORDS:
        words = NEW[kind].words()
        assert {"flabber", "gasted"} <= set(words)
        assert NEW[kind].word_ids(list(words)) == list(words.values())


def test_a_short_window_of_tokens_is_kept() -> None:
    tokenizer = trained("word", max_tokens=1).with_words(["flabber"])
    assert tokenizer.encode(["the plot", "flabber plot"])[1].tolist() == [tokenizer.vocab_size - 1]


SPELLED = ["flabber", "zorro's", "naïveté", "đời"]


def with_case(kind: str) -> TextTokenizer:
    return trained(kind, lowercase=False, normalization="none")


@pytest.mark.parametrize("kind", WITH_WORDS)
@pytest.mark.parametrize("word", SPELLED)
def test_a_new_word_is_written_as_it_is_spelled(kind: str, word: str, tmp_path: Path) -> None:
    tokenizer = with_case(kind).with_words(SPELLED)
    text = f"the plot is {word} but it is {word}"
    ids = tokenizer.encode([text])[0].tolist()
    tokenizer.save(tmp_path / "tokenizer.json")
    for read in (tokenizer, TextTokenizer.load(tmp_path / "tokenizer.json")):
        assert read.decode(ids) == text
        (new,) = read.word_ids([word])
        assert new is not None
        assert read.decode([new, new]).strip() == f"{word} {word}"
        assert read.decode([ids[0], new]).endswith(f" {word}")


@pytest.mark.parametrize("kind", WITH_WORDS)
def test_everything_else_is_written_as_it_was(kind: str) -> None:
    for text in [*TEXTS[:2], "it's thinner, flabbers!", "naïve", "flab ber"]:
        ids = OLD[kind].encode([text])[0].tolist()
        assert NEW[kind].decode(ids) == OLD[kind].decode(ids)


@pytest.mark.parametrize("kind", WITH_WORDS)
def test_words_are_added_to_words(kind: str) -> None:
    tokenizer = with_case(kind).with_words(["flabber", "naïveté"]).with_words(["gasted", "đời"])
    text = "the flabber gasted the naïveté đời plot"
    assert tokenizer.decode(tokenizer.encode([text])[0].tolist()) == text


@pytest.mark.parametrize("kind", WITH_WORDS)
def test_new_words_are_listed_as_they_are_spelled(kind: str) -> None:
    old = with_case(kind)
    words = old.with_words(SPELLED).words()
    assert {word: id_ for word, id_ in words.items() if id_ >= old.vocab_size} == {
        word: old.vocab_size + number for number, word in enumerate(SPELLED)
    }
    assert old.words().items() <= words.items()
