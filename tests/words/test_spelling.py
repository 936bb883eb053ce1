from pathlib import Path

import pytest

from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.words.spelling import spelled

TEXTS = ["the plot is thin, but I loved it", "it's the naïve plot that I loved"] * 3
WORDS = ["flabber", "zorro's", "naïveté", "đời"]


def taught(kind: str, words: list[str]) -> TextTokenizer:
    config = {"kind": kind, "min_frequency": 1, "vocab_size": 330, "lowercase": False, "normalization": "none"}
    old = TextTokenizer.train(TEXTS, TokenizerConfig.model_validate(config))
    return spelled(old.with_words(words), words)


@pytest.mark.parametrize("kind", ["word", "wordpiece", "bpe", "unigram"])
@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_written_as_it_is_spelled(kind: str, word: str, tmp_path: Path) -> None:
    tokenizer = taught(kind, WORDS)
    text = f"the plot is {word} but it is {word}"
    ids = tokenizer.encode([text])[0].tolist()
    tokenizer.save(tmp_path / "tokenizer.json")
    for one in (tokenizer, TextTokenizer.load(tmp_path / "tokenizer.json")):
        assert one.decode(ids) == text
        (new,) = one.word_ids([word])
        assert new is not None
        assert one.decode([new, new]).strip() == f"{word} {word}"
        assert [one.decode([ids[0], new])[-len(word) :], one.vocab_size] == [word, tokenizer.vocab_size]


@pytest.mark.parametrize("kind", ["word", "wordpiece", "bpe", "unigram"])
def test_everything_else_stays_as_it_was(kind: str) -> None:
    config = {"kind": kind, "min_frequency": 1, "vocab_size": 330}
    old = TextTokenizer.train(TEXTS, TokenizerConfig.model_validate(config))
    new = spelled(old.with_words(["flabber"]), ["flabber"])
    for text in [*TEXTS[:2], "it's thinner, flabbers!", "naïve"]:
        ids = old.encode([text])[0].tolist()
        assert new.encode([text])[0].tolist() == ids
        assert new.decode(ids) == old.decode(ids)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_words_may_be_added_to_words(kind: str) -> None:
    first = taught(kind, ["flabber", "naïveté"])
    second = spelled(first.with_words(["gasted", "đời"]), ["gasted", "đời"])
    text = "the flabber gasted the naïveté đời plot"
    assert second.decode(second.encode([text])[0].tolist()) == text
