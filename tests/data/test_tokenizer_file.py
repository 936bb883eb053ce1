import struct
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from glassformer.data.tokenizer_file import read_tokenizer
from glassformer.errors import UsageError


def table(*units: int, texts: bytes = b"a\0") -> dict[str, Any]:
    """A table of characters as SentencePiece writes it, whose double array begins with these units."""
    array = struct.pack("<256I", *units, *[0] * (256 - len(units)))
    raw = struct.pack("<I", len(array)) + array + texts
    return {"normalizer": normalizers.Precompiled(raw)}


LEAF, VALUE = 0x100, 0x80000000
VOCABULARY = {"<pad>": 0, "<unk>": 1, "<cls>": 2, "a": 3}


def written(path: Path, *, model: Any = None, **parts: Any) -> Path:
    inner = Tokenizer(model or models.WordLevel(VOCABULARY, unk_token="<unk>"))
    for name, part in parts.items():
        setattr(inner, name, part)
    inner.save(str(path))
    return path


@pytest.mark.parametrize(
    "parts",
    [
        {
            "normalizer": normalizers.Replace(" ", "▁"),
            "pre_tokenizer": pre_tokenizers.Split(" ", "merged_with_previous"),
        },
        {"normalizer": normalizers.BertNormalizer(), "pre_tokenizer": pre_tokenizers.BertPreTokenizer()},
        {"decoder": decoders.Replace(Regex(r"\A(?=(?:don't|a\.b|größer)\z)"), "Ġ")},
        {"decoder": decoders.Replace(Regex(r"\Aa\+b\z"), "a")},
        {"normalizer": normalizers.Replace(Regex(" {2,}"), " ")},
        table(1 << 10 | LEAF, VALUE | 2),
    ],
)
def test_known_parts_are_read(parts: dict[str, Any], tmp_path: Path) -> None:
    assert read_tokenizer(written(tmp_path / "t.json", **parts)).get_vocab() == VOCABULARY


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"decoder": decoders.Replace(Regex(r"\A(?:a|a)*\z"), "a")}, "decoder"),
        ({"decoder": decoders.Replace(Regex(r"\Aa+\z"), "a")}, "decoder"),
        ({"decoder": decoders.Replace(Regex(r"\A\w\z"), "a")}, "decoder"),
        ({"decoder": decoders.Sequence([decoders.Replace(Regex(r"(a|a)(a|a)$"), "a")])}, "decoder"),
        ({"normalizer": normalizers.Replace(Regex(r"\s+"), " ")}, "normalizer"),
        ({"normalizer": normalizers.Replace("a", "aa")}, "longer"),
        ({"normalizer": normalizers.Replace(Regex(" {2,}"), "   ")}, "longer"),
        (table(texts=b"a" * 65), "longer"),
        (table(9 << 20), "damaged"),
        (table(VALUE | 1 << 10), "damaged"),
        (table(*[VALUE] * 256), "damaged"),
        (table(1 << 10 | LEAF, VALUE | 3), "damaged"),
        (table(1 << 10 | LEAF, VALUE | 1, texts="ö\0".encode()), "damaged"),
        ({"model": models.BPE(VOCABULARY, [], dropout=0.5)}, "random"),
        ({"model": models.WordPiece(VOCABULARY, unk_token="<unk>", max_input_chars_per_word=10**6)}, "1000000"),
    ],
)
def test_parts_that_take_long_or_grow_are_refused(parts: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=says):
        read_tokenizer(written(tmp_path / "t.json", **parts))
