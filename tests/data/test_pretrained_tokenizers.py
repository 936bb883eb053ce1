import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.pretrained_tokenizers import read_pretrained_tokenizer
from glassformer.data.tokenizers import TextTokenizer
from glassformer.errors import GlassformerError, UsageError

BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
PIECES = ["[unused]", "good", "[CLS]", "film", "[SEP]", "[PAD]", "##s", "[UNK]", "bad", "[MASK]"]


@pytest.fixture
def spec() -> dict[str, Any]:
    """A tokenizer.json whose special tokens are at odd places, and that would cut and pad."""
    special = [{"id": n, "content": token, "special": True} for n, token in enumerate(PIECES) if token[0] == "["]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    padding = {"strategy": {"Fixed": 50}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 5,
               "pad_type_id": 0, "pad_token": "[PAD]"}  # fmt: skip
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
        "padding": padding,
        "added_tokens": [token | flags for token in special],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: number for number, piece in enumerate(PIECES)},
        },
    }


def read(folder: Path, spec: dict[str, Any]) -> tuple[TextTokenizer, list[int]]:
    (folder / "tokenizer.json").write_text(json.dumps(spec))
    return read_pretrained_tokenizer(folder, BERT, "--init hf:x")


def test_special_tokens_come_first_and_the_others_keep_their_order(tmp_path: Path, spec: dict[str, Any]) -> None:
    tokenizer, order = read(tmp_path, spec)
    assert order == [5, 7, 2, 0, 1, 3, 4, 6, 8, 9]
    assert [PIECES[number] for number in order[:3]] == ["[PAD]", "[UNK]", "[CLS]"]
    assert tokenizer.vocabulary() == {PIECES[number]: id_ for id_, number in enumerate(order)}


def test_nothing_is_cut_or_padded_and_the_end_token_closes_every_text(tmp_path: Path, spec: dict[str, Any]) -> None:
    tokenizer, order = read(tmp_path, spec)
    pieces = [[PIECES[order[id_]] for id_ in ids] for ids in tokenizer.encode(["good films bad film", "", "dull"])]
    assert pieces == [["good", "film", "##s", "bad", "film", "[SEP]"], ["[SEP]"], ["[UNK]", "[SEP]"]]
    assert tokenizer.unknown_words("good dull film") == ["dull"]
    ids, offsets = tokenizer.encode_with_offsets("good films")
    assert ids == tokenizer.encode(["good films"])[0].tolist()
    assert offsets == [(0, 4), (5, 9), (9, 10), (0, 0)]


def test_a_special_token_that_a_text_spells_is_text(tmp_path: Path, spec: dict[str, Any]) -> None:
    tokenizer, order = read(tmp_path, spec)
    assert [PIECES[order[id_]] for id_ in tokenizer.encode(["[MASK]"])[0]] == ["[UNK]"] * 3 + ["[SEP]"]


def test_holes_in_the_numbering_are_closed(tmp_path: Path, spec: dict[str, Any]) -> None:
    spec["model"]["vocab"]["bad"] = 70
    tokenizer, order = read(tmp_path, spec)
    assert order[-1] == 70
    assert tokenizer.vocab_size == len(order) == len(PIECES)


def test_special_tokens_by_the_names_of_the_settings(tmp_path: Path, spec: dict[str, Any]) -> None:
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"cls_token": {"content": "[MASK]"}}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"sep_token": "film", "unk_token": None}))
    tokenizer, order = read(tmp_path, spec)
    assert [PIECES[number] for number in order[:3]] == ["[PAD]", "[UNK]", "[MASK]"]
    assert PIECES[order[tokenizer.encode([""])[0][0]]] == "film"


def test_an_old_file_that_does_not_name_its_kind(tmp_path: Path, spec: dict[str, Any]) -> None:
    expected = read(tmp_path, spec)[0].vocabulary()
    del spec["model"]["type"]
    assert read(tmp_path, spec)[0].vocabulary() == expected
    byte_pairs = {"vocab": {**{piece: n for n, piece in enumerate(PIECES)}, "g": 10, "o": 11, "go": 12}}
    spec["model"] = byte_pairs | {"dropout": None, "unk_token": None, "fuse_unk": False, "merges": ["g o"]}
    tokenizer, order = read(tmp_path, spec)
    assert [order[id_] for id_ in tokenizer.encode(["go"])[0]] == [12, 4]


def test_a_tokenizer_without_an_end_token(tmp_path: Path, spec: dict[str, Any]) -> None:
    """Its step for special tokens ends with the text, and no file names an end token."""
    start = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
    step = {"type": "TemplateProcessing", "single": [start, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}}}  # fmt: skip
    tokenizer, order = read(tmp_path, spec | {"post_processor": step})
    assert [PIECES[order[id_]] for id_ in tokenizer.encode(["good film"])[0]] == ["good", "film"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"sep_token": "[SEP]"}))
    tokenizer, order = read(tmp_path, spec | {"post_processor": step})
    assert [PIECES[order[id_]] for id_ in tokenizer.encode(["good film"])[0]] == ["good", "film", "[SEP]"]


def test_what_is_missing_is_named(tmp_path: Path, spec: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"no tokenizer\.json"):
        read_pretrained_tokenizer(tmp_path, BERT, "x")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"unk_token": "<what>"}))
    with pytest.raises(UsageError, match="no unk_token"):
        read(tmp_path, spec)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"pad_token": "[UNK]"}))
    with pytest.raises(UsageError, match="must be three tokens"):
        read(tmp_path, spec)


def test_pieces_that_are_numbered_by_place_are_listed_anew(tmp_path: Path, spec: dict[str, Any]) -> None:
    """The mask stands outside of the list."""
    pieces = {"[UNK]": 0.0, "▁good": -2.0, "[CLS]": 0.0, "[SEP]": 0.0, "▁": -3.0, "s": -4.0, "[PAD]": 0.0}
    spec["model"] = {"type": "Unigram", "vocab": list(pieces.items()), "unk_id": 0}
    spec["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    numbers = {piece: number for number, piece in enumerate([*pieces, "[MASK]"])}
    spec["added_tokens"] = [
        token | {"id": numbers[token["content"]]} for token in spec["added_tokens"] if token["content"] in numbers
    ]
    tokenizer, order = read(tmp_path, spec)
    assert order == [6, 0, 2, 1, 3, 4, 5, 7]
    named = [*pieces, "[MASK]"]
    assert [[named[order[id_]] for id_ in ids] for ids in tokenizer.encode(["good s", "x"])] == [
        ["▁good", "▁", "s", "[SEP]"], ["▁", "[UNK]", "[SEP]"]
    ]  # fmt: skip


def test_damaged_files(tmp_path: Path, spec: dict[str, Any]) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(GlassformerError, match="damaged or cut short"):
        read_pretrained_tokenizer(tmp_path, BERT, "x")
    with pytest.raises(GlassformerError, match="damaged"):
        read(tmp_path, {"model": {}})
    with pytest.raises(GlassformerError, match="damaged"):
        read(tmp_path, spec | {"pre_tokenizer": {"type": "Nothing"}})
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "vocab.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(GlassformerError, match="not UTF-8"):
        read_pretrained_tokenizer(tmp_path, BERT, "x")
