import json
import random
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from glassformer.data.inputs import SEPARATOR, Category, Inputs
from glassformer.data.tokenizers import SPECIAL_TOKENS, TextTokenizer, TokenizerConfig, batched
from glassformer.errors import GlassformerError, UsageError

KINDS = [kind for kind in get_args(TokenizerConfig.model_fields["kind"].annotation) if kind != "pretrained"]
MIXED = "Café ﬁne Ünï naïve 你好世界 สวัสดีครับ 😀👍🏽 don't Ⅳ ＡＢＣ e\u0301te\u0301"
TEXTS = [MIXED, "plain words here, and there.", "good, not bad", "bad, not good; not at all", "so-so words"]


def trained(texts: list[str] | None = None, **settings: Any) -> TextTokenizer:
    defaults: dict[str, Any] = {"min_frequency": 1, "vocab_size": 700}
    return TextTokenizer.train(TEXTS * 3 if texts is None else texts, TokenizerConfig(**defaults | settings))


def pieces(tokenizer: TextTokenizer, text: str) -> list[str]:
    token_of = {id_: token for token, id_ in tokenizer.vocabulary().items()}
    return [token_of[id_] for id_ in tokenizer.encode([text])[0]]


def random_words(n_texts: int) -> list[str]:
    """Words of letters at random: their pieces are full of ties."""
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 7))) for _ in range(150)]
    return [" ".join(rng.choices(words, k=9)) for _ in range(n_texts)]


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_come_first(kind: str) -> None:
    vocabulary = trained(kind=kind).vocabulary()
    assert [vocabulary[token] for token in SPECIAL_TOKENS] == [0, 1, 2]
    assert sorted(vocabulary.values()) == list(range(len(vocabulary)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_special_token_spelled_in_a_text_is_text(kind: str) -> None:
    tokenizer = trained([*TEXTS * 3, *["a <pad> b <unk> <cls>"] * 50], kind=kind)
    ids = tokenizer.encode(["a <pad> b", "<pad>", "<unk><cls>"])
    assert min(min(row) for row in ids) > 2
    assert all(len(row) > 1 for row in ids)


@pytest.mark.parametrize("kind", KINDS)
def test_survives_saving_and_loading(kind: str, tmp_path: Path) -> None:
    tokenizer = trained(kind=kind)
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = TextTokenizer.load(tmp_path / "tokenizer.json")
    assert loaded.vocabulary() == tokenizer.vocabulary()
    assert loaded.vocab_size == tokenizer.vocab_size
    for text in [*TEXTS, "unseen ψ <pad> words"]:
        assert loaded.encode_with_offsets(text) == tokenizer.encode_with_offsets(text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("normalization", ["none", "nfc", "nfkc"])
def test_offsets_point_into_the_original_text(kind: str, normalization: str) -> None:
    tokenizer = trained(kind=kind, normalization=normalization)
    ids, offsets = tokenizer.encode_with_offsets(MIXED)
    assert ids == tokenizer.encode([MIXED])[0].tolist()
    assert all(0 <= start < end <= len(MIXED) for start, end in offsets)
    assert offsets == sorted(offsets)
    covered = {place for start, end in offsets for place in range(start, end)}
    joined_away = {place for place, character in enumerate(MIXED) if unicodedata.combining(character)}
    assert {place for place, character in enumerate(MIXED) if not character.isspace()} - covered <= joined_away


def test_offsets_cut_out_the_words_that_were_written() -> None:
    _, offsets = trained().encode_with_offsets(MIXED)
    assert [MIXED[start:end] for start, end in offsets[:3]] == ["Café", "ﬁne", "Ünï"]
    assert {MIXED[start:end] for start, end in offsets} >= {"你", "界", "😀", "don't", "Ⅳ", "ＡＢＣ"}


def test_offsets_of_one_character_cover_its_bytes() -> None:
    _, offsets = trained(kind="byte").encode_with_offsets("a你😀")
    assert offsets == [(0, 1)] + [(1, 2)] * 3 + [(2, 3)] * 4


@given(st.text(max_size=30), st.sampled_from(["word", "bpe", "byte"]))
def test_any_text_can_be_encoded(text: str, kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    ids, offsets = tokenizer.encode_with_offsets(text)
    assert tokenizer.encode([text])[0].tolist() == ids
    assert all(0 <= start <= end <= len(text) for start, end in offsets)
    together = tokenizer.encodings([MIXED, text, ""])
    assert [(each.ids, each.offsets) for each in together] == [
        tokenizer.encode_with_offsets(MIXED),
        (ids, offsets),
        ([], []),
    ]


TOKENIZERS = {kind: trained(kind=kind) for kind in ("word", "bpe", "byte")}


@given(st.text(max_size=20))
def test_bytes_lose_nothing(text: str) -> None:
    n_bytes = len(text.encode())
    tokenizer = trained(["x"], kind="byte", normalization="none", lowercase=False)
    assert tokenizer.vocab_size == 256 + 3
    assert len(tokenizer.encode([text])[0]) == n_bytes


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_reproducible(kind: str) -> None:
    texts = random_words(120)
    settings = {"kind": kind, "vocab_size": 330}
    first = trained(texts, **settings)
    assert trained(texts, **settings).vocabulary() == first.vocabulary()


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_another_process_learns_the_same_file(kind: str, tmp_path: Path) -> None:
    script = (
        "import sys, json; from pathlib import Path\n"
        "from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig\n"
        "config = TokenizerConfig(kind=sys.argv[2], vocab_size=330, min_frequency=2)\n"
        "TextTokenizer.train(json.load(sys.stdin), config).save(Path(sys.argv[1]))\n"
    )
    texts = random_words(120)
    there, here = tmp_path / "there.json", tmp_path / "here.json"
    subprocess.run([sys.executable, "-c", script, str(there), kind], input=json.dumps(texts), text=True, check=True)
    trained(texts, kind=kind, vocab_size=330, min_frequency=2).save(here)
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.parametrize(("kind", "size"), [("word", 40), ("character", 9), ("bpe", 270), ("wordpiece", 45)])
def test_vocabulary_is_no_larger_than_asked_for(kind: str, size: int) -> None:
    assert trained(random_words(60), kind=kind, vocab_size=size).vocab_size == size


def test_unigram_stays_below_its_size() -> None:
    texts = random_words(60)
    assert trained(texts, kind="unigram", vocab_size=80).vocab_size <= 80
    assert trained(texts, kind="unigram", vocab_size=300).vocab_size > 80


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_too_small_a_vocabulary_is_a_mistake_in_words(kind: str) -> None:
    with pytest.raises(UsageError, match=r"tokenizer\.vocab_size = 12"):
        trained(random_words(20), kind=kind, vocab_size=12)


def test_bpe_has_room_for_the_bytes() -> None:
    with pytest.raises(ValidationError, match="at least 259 for kind='bpe', got vocab_size=258"):
        TokenizerConfig(kind="bpe", vocab_size=258)
    assert TokenizerConfig(kind="word", vocab_size=4).vocab_size == 4


def test_frequent_words_are_kept_first() -> None:
    texts = ["rare common common common usual usual"]
    assert set(trained(texts, vocab_size=5).vocabulary()) == {*SPECIAL_TOKENS, "common", "usual"}


@pytest.mark.parametrize("kind", ["word", "character"])
def test_min_frequency_leaves_rare_words_out(kind: str) -> None:
    texts = ["a a a b b c"]
    letters = {token for token in trained(texts, kind=kind, min_frequency=2).vocabulary() if token.isalpha()}
    assert letters == {"a", "b"}


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_min_frequency_stops_merging(kind: str) -> None:
    texts = ["ab ab ab cd"]
    tokens = set(trained(texts, kind=kind, min_frequency=2).vocabulary())
    assert "ab" in tokens
    assert "cd" not in tokens
    assert "cd" in trained([*texts, "cd cd"], kind=kind, min_frequency=2).vocabulary()


@pytest.mark.parametrize(
    ("settings", "same", "different"),
    [
        ({"lowercase": True}, [("Good", "good"), ("ÜBER", "über")], [("über", "uber")]),
        ({"lowercase": False}, [], [("Good", "good")]),
        ({"strip_accents": True}, [("café", "cafe"), ("cafe\u0301", "cafe")], []),
        ({"strip_accents": False}, [], [("café", "cafe")]),
        ({"normalization": "nfkc"}, [("cafe\u0301", "café"), ("ﬁne", "fine"), ("ＡＢＣ", "abc")], []),
        ({"normalization": "nfc"}, [("cafe\u0301", "café")], [("ﬁne", "fine")]),
        ({"normalization": "none"}, [], [("cafe\u0301", "café"), ("ﬁne", "fine")]),
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_options_say_which_spellings_are_one(
    settings: dict[str, Any], same: list[tuple[str, str]], different: list[tuple[str, str]]
) -> None:
    words = [word for pair in same + different for word in pair]
    tokenizer = trained(words, **settings)
    ids = {word: tokenizer.encode([word])[0].tolist() for word in words}
    assert all(1 not in row for row in ids.values())
    assert all(ids[word] == ids[other] for word, other in same)
    assert all(ids[word] != ids[other] for word, other in different)


def test_words_are_cut_as_readers_cut_them() -> None:
    text = "don't stop-now: 好的 3rd!"
    assert pieces(trained([text]), text) == ["don't", "stop", "-", "now", ":", "好", "的", "3rd", "!"]


def test_pieces_of_a_wordpiece_are_marked() -> None:
    tokenizer = trained(["low low low lower lower newest newest"], kind="wordpiece", vocab_size=40)
    assert "".join(pieces(tokenizer, "lowest")).replace("##", "") == "lowest"
    assert pieces(tokenizer, "lowest")[0] == "low"


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_text_has_no_tokens(kind: str) -> None:
    tokenizer = trained(kind=kind)
    assert [len(row) for row in tokenizer.encode(["", "a", ""])][::2] == [0, 0]
    assert tokenizer.encode_with_offsets("") == ([], [])
    assert tokenizer.encode([]) == []


def test_unknown_words_are_listed_as_written_each_once() -> None:
    tokenizer = trained()
    assert tokenizer.unknown_words("Zebra plain ZEBRA words ψ Zebra") == ["Zebra", "ZEBRA", "ψ"]
    assert tokenizer.unknown_words("plain words") == []
    assert trained(kind="bpe").unknown_words("Zebra 象") == []
    for words in ("résumé déjà", "한국어 텍스트", "Việt ạ́"):
        apart = unicodedata.normalize("NFD", words)
        assert tokenizer.unknown_words(apart) == apart.split()


def test_words_can_be_numbered_as_they_appear() -> None:
    tokenizer = trained(["b a", "a c", "a b b"], numbering="appearance")
    assert tokenizer.vocabulary() == {"<pad>": 0, "<unk>": 1, "<cls>": 2, "b": 3, "a": 4, "c": 5}
    assert trained(["b a", "a c", "a b b"], numbering="appearance", min_frequency=2).vocabulary()["a"] == 4
    assert tokenizer.encode(["c a z <pad>"])[0].tolist()[:3] == [5, 4, 1]
    with pytest.raises(ValidationError, match="numbering='appearance' is for kind='word', got kind='bpe'"):
        TokenizerConfig(kind="bpe", numbering="appearance")


def test_only_the_first_tokens_are_kept_also_after_loading(tmp_path: Path) -> None:
    tokenizer = trained(max_tokens=2)
    tokenizer.save(tmp_path / "tokenizer.json")
    for read in (tokenizer, TextTokenizer.load(tmp_path / "tokenizer.json")):
        assert [len(ids) for ids in read.encode(["plain words plain words", "plain", ""])] == [2, 1, 0]
        assert read.unknown_words("plain words Zebra") == []


def test_a_file_that_is_no_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for content in ("", "{", '{"version": "1.0"}', "[1, 2]"):
        path.write_text(content)
        with pytest.raises(GlassformerError, match=r"tokenizer\.json is not a readable tokenizer file"):
            TextTokenizer.load(path)


def test_batched_keeps_every_text_in_order() -> None:
    assert list(batched("abcdefg", 3)) == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
    assert list(batched("abcdef", 3)) == [["a", "b", "c"], ["d", "e", "f"]]
    assert list(batched([], 3)) == []


def test_one_that_comes_with_weights_is_not_learned() -> None:
    with pytest.raises(UsageError, match="`init=`"):
        TextTokenizer.train(["a text"], TokenizerConfig(kind="pretrained"))


def test_one_string_is_not_a_list_of_texts() -> None:
    with pytest.raises(UsageError, match=r"a list of texts, not one string; for a single text give \[text\]"):
        trained().encode("good")


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_no_piece_is_learned_from_more_than_a_thousand_characters_without_a_space(kind: str) -> None:
    tokenizer = trained(["a" * 5_000] * 3, kind=kind, vocab_size=330)
    assert max(map(len, tokenizer.vocabulary())) <= 1_002  # "##" or "▁" may stand before them
    assert tokenizer.encode(["a" * 5_000])[0].size > 0


@pytest.mark.parametrize("kind", ["word", "character", "byte", "bpe", "wordpiece", "unigram"])
def test_marks_of_several_inputs_are_one_token_each(kind: str) -> None:
    inputs = Inputs(texts=("a", "b"), columns=(Category(name="shop", values=("New York", "Ulm")),))
    config = TokenizerConfig.model_validate({"kind": kind, "min_frequency": 1, "vocab_size": 400})
    plain = TextTokenizer.train(["a film of york", "shop"] * 3, config)
    marked = plain.with_marks(inputs.tokens)
    assert marked.vocab_size == plain.vocab_size + len(inputs.tokens)
    row = inputs.compose({"a": "a film", "b": "of york", "shop": "new york"})
    value, first, second = plain.vocab_size + 2, plain.encode(["a film"])[0], plain.encode(["of york"])[0]
    assert marked.encode([row])[0].tolist() == [value, *first, marked.vocab_size - 1, *second]
    assert marked.separator_id == marked.vocab_size - 1
    assert plain.separator_id is None
    assert marked.unknown_words(row) == plain.unknown_words("a film")


def test_marks_survive_saving(tmp_path: Path) -> None:
    marked = TextTokenizer.train(["a film"], TokenizerConfig(min_frequency=1)).with_marks([SEPARATOR])
    marked.save(tmp_path / "tokenizer.json")
    assert TextTokenizer.load(tmp_path / "tokenizer.json").separator_id == marked.separator_id
