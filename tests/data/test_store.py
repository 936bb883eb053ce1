import json
from pathlib import Path

import numpy as np
import pytest

from glassformer.data import store as store_module
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig

TEXTS = ["one two three", "", "two", "three one one two", "!", ""]


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.train(TEXTS, TokenizerConfig(min_frequency=1))


class ManyWords(TextTokenizer):
    """Says that its vocabulary has this many tokens."""

    def __init__(self, tokenizer: TextTokenizer, vocab_size: int) -> None:
        super().__init__(tokenizer._inner)
        self._vocab_size = vocab_size

    @property
    def vocab_size(self) -> int:
        return self._vocab_size


def assert_same(one: TokenStore, other: TokenStore) -> None:
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_array_equal(one.tokens, other.tokens)


@pytest.mark.parametrize("texts_per_write", [1, 2, 4, 8192])
def test_written_reads_as_in_memory(
    tokenizer: TextTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts_per_write: int
) -> None:
    monkeypatch.setattr(store_module, "_TEXTS_PER_WRITE", texts_per_write)
    in_memory = TokenStore.in_memory(tokenizer.encode(TEXTS))
    assert_same(TokenStore.write(tmp_path / "store", iter(TEXTS), tokenizer), in_memory)
    assert_same(TokenStore.open(tmp_path / "store"), in_memory)
    assert in_memory.lengths.tolist() == [3, 0, 1, 4, 1, 0]
    assert in_memory.tokens[4:8].tolist() == tokenizer.encode(TEXTS)[3].tolist()


@pytest.mark.parametrize(("vocab_size", "dtype"), [(7, np.uint16), (2**16, np.uint16), (2**16 + 1, np.uint32)], ids=str)
def test_a_token_takes_the_bytes_that_the_vocabulary_needs(
    tokenizer: TextTokenizer, tmp_path: Path, vocab_size: int, dtype: type
) -> None:
    store = TokenStore.write(tmp_path, TEXTS, ManyWords(tokenizer, vocab_size))
    assert store.tokens.dtype == dtype
    assert_same(store, TokenStore.in_memory(tokenizer.encode(TEXTS)))
    assert (tmp_path / "tokens.bin").stat().st_size == 9 * np.dtype(dtype).itemsize


def test_tokens_stay_on_disk(tokenizer: TextTokenizer, tmp_path: Path) -> None:
    store = TokenStore.write(tmp_path, TEXTS, tokenizer)
    assert isinstance(store.tokens, np.memmap)
    assert type(store.offsets) is np.ndarray
    assert not store.offsets.flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        store.tokens[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        store.offsets[0] = 1


@pytest.mark.parametrize("texts", [[], [""], ["", "", ""]], ids=len)
def test_texts_without_tokens(tokenizer: TextTokenizer, tmp_path: Path, texts: list[str]) -> None:
    store = TokenStore.write(tmp_path, texts, tokenizer)
    assert_same(store, TokenStore.in_memory(tokenizer.encode(texts)))
    assert store.lengths.tolist() == [0] * len(texts)


def test_an_unfinished_store_is_none(tokenizer: TextTokenizer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TokenStore.open(tmp_path / "absent")

    def cut_short() -> object:
        yield "one two"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TokenStore.write(tmp_path / "store", cut_short(), tokenizer)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        TokenStore.open(tmp_path / "store")
    assert_same(TokenStore.write(tmp_path / "store", TEXTS, tokenizer), TokenStore.in_memory(tokenizer.encode(TEXTS)))
    assert json.loads((tmp_path / "store" / "store.json").read_text())["dtype"] == "uint16"
