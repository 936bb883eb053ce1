"""Read the tokenizer of a checkpoint and renumber its tokens like ours: padding 0, unknown 1, start 2, then the others.

The pieces stay the same. `order` says which row of the checkpoint's embedding table belongs to which id.
`as_pretrained_tokenizer` is the way back: it describes our tokenizer by the files of a checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from glassformer.data.json_files import read_bounded, read_settings
from glassformer.data.tokenizer_file import lacks_unknown, read_tokenizer
from glassformer.data.tokenizers import PAD_ID, START_ID, UNKNOWN_ID, TextTokenizer
from glassformer.errors import GlassformerError, UsageError

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
_MOST_BYTES = 128 << 20  # of a list of pieces
_ROLES = ("pad_token", "unk_token", "cls_token", "sep_token")


def read_pretrained_tokenizer(
    folder: Path, special_tokens: Sequence[str], where: str
) -> tuple[TextTokenizer, list[int]]:
    """Read `tokenizer.json`, or if it is missing the `vocab.txt` of a BERT.

    Args:
        special_tokens: padding, unknown, start and end, for a checkpoint that does not name them.

    Returns:
        A tokenizer that puts the checkpoint's end token, if it has one, after every text, and for each of its ids the
        id that the token had in the checkpoint.

    Raises:
        UsageError: there is no such file, this kind of tokenizer cannot be renumbered, or a special token is missing.
        GlassformerError: a file is damaged.
    """
    settings = _settings(folder)
    special = {role: settings.get(role, name) for role, name in zip(_ROLES, special_tokens, strict=True)}
    if (folder / "tokenizer.json").is_file():
        # As the library writes it today: old files lack the kind of the model and join merges by a space.
        spec = json.loads(read_tokenizer(folder / "tokenizer.json", where=where).to_str())
    elif (folder / "vocab.txt").is_file():
        spec = _bert_tokenizer(folder / "vocab.txt", settings, str(special["unk_token"]))
    else:
        raise UsageError(f"{where}: there is no tokenizer.json (nor a BERT's vocab.txt) beside the weights")
    vocabulary = spec["model"]["vocab"]
    if not isinstance(
        vocabulary, dict
    ):  # a unigram model lists its pieces with their scores, in the order of their ids
        vocabulary = {piece: number for number, (piece, _) in enumerate(vocabulary)}
    numbers = vocabulary | {token["content"]: token["id"] for token in spec["added_tokens"]}
    step = spec["post_processor"]
    says_so = (
        step is not None and step["type"] == "TemplateProcessing"
    )  # others are silent, and other parts add the token
    if "sep_token" not in settings and says_so and _end_token(spec) is None:
        del special["sep_token"]
    for role, token in special.items():
        if not isinstance(token, str) or token not in numbers:
            raise UsageError(f"{where}: the tokenizer has no {role} ({token!r}), which every text or batch needs")
    first = [special[role] for role in _ROLES[:3]]
    if len({numbers[token] for token in first}) < len(first):
        raise UsageError(f"{where}: the tokenizer's {', '.join(_ROLES[:3])} must be three tokens, got {first}")
    order = [*first, *(token for token in sorted(numbers, key=numbers.__getitem__) if token not in first)]
    tokenizer = _renumbered(spec, {token: new for new, token in enumerate(order)}, special.get("sep_token"), where)
    return tokenizer, [numbers[token] for token in order]


def as_pretrained_tokenizer(tokenizer: TextTokenizer, *, window: int) -> dict[str, dict[str, Any]]:
    """Describe a tokenizer of ours by the files of a checkpoint: the content of each JSON file by its name.

    The tokenizer of the other library gives the same ids, and also puts the start token before every text.

    Args:
        window: how many tokens the model reads at once, including the start token.
    """
    spec = json.loads(tokenizer.to_json())
    numbers = tokenizer.vocabulary()
    by_id = {number: token for token, number in numbers.items()}
    end = _end_token(spec)
    roles = dict(zip(_ROLES, (by_id[PAD_ID], by_id[UNKNOWN_ID], by_id[START_ID], end), strict=True))
    if spec["truncation"] is not None:
        window = min(window, spec["truncation"]["max_length"] + 1)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": window,
        "model_input_names": ["input_ids", "attention_mask"],
        "split_special_tokens": True,  # "<pad>" in a user's text is five ordinary characters
        "clean_up_tokenization_spaces": False,
    }
    template = _template([by_id[START_ID]], [] if end is None else [end], numbers)
    return {
        "tokenizer.json": spec | {"post_processor": template, "truncation": None},
        "tokenizer_config.json": settings | {role: token for role, token in roles.items() if token is not None},
    }


def _template(before: Sequence[str], after: Sequence[str], numbers: Mapping[str, int]) -> dict[str, Any]:
    """Describe the step that puts special tokens before and after each text."""
    first, second = ([{"Sequence": {"id": name, "type_id": 0}}] for name in "AB")
    starts, ends = ([{"SpecialToken": {"id": token, "type_id": 0}} for token in tokens] for tokens in (before, after))
    return {
        "type": "TemplateProcessing",
        "single": [*starts, *first, *ends],
        "pair": [*starts, *first, *ends, *second, *ends],
        "special_tokens": {
            token: {"id": token, "ids": [numbers[token]], "tokens": [token]} for token in (*before, *after)
        },
    }


def _end_token(spec: Mapping[str, Any]) -> str | None:
    """Return the special token that a tokenizer puts after every text, or None."""
    step = spec["post_processor"]
    last = step["single"][-1:] if step is not None and step["type"] == "TemplateProcessing" else []
    return next((str(part["SpecialToken"]["id"]) for part in last if "SpecialToken" in part), None)


def _vocabulary(before: Any, numbers: Mapping[str, int]) -> Any:
    """Return the vocabulary of the model in the order of the numbers, with the tokens that stand outside of it."""
    if isinstance(before, dict):
        return dict(numbers)
    scores = dict(before)
    return [[piece, scores.get(piece, 0.0)] for piece in sorted(numbers, key=numbers.__getitem__)]


def _renumbered(spec: dict[str, Any], numbers: Mapping[str, int], end: str | None, where: str) -> TextTokenizer:
    """Return the same tokenizer with other ids. It does not truncate or pad, and adds only the end token."""
    added = [token | {"id": numbers[token["content"]]} for token in spec["added_tokens"]]
    unknown = {"unk_id": UNKNOWN_ID} if spec["model"]["type"] == "Unigram" else {}
    # All tokens go into the model's own vocabulary. The library would give tokens outside of it new ids at the end.
    changed = {
        "model": spec["model"] | {"vocab": _vocabulary(spec["model"]["vocab"], numbers)} | unknown,
        "added_tokens": sorted(added, key=lambda token: int(token["id"])),
        "post_processor": None if end is None else _template([], [end], numbers),
        "truncation": None,
        "padding": None,
    }
    try:
        inner = Tokenizer.from_str(json.dumps(spec | changed))
    except Exception as error:  # the library raises bare Exceptions
        raise GlassformerError(f"{where}: tokenizer.json is damaged ({error})") from error
    if lacks_unknown(inner):
        raise GlassformerError(f"{where}: tokenizer.json has no token for unknown words; the file is damaged")
    tokenizer = TextTokenizer(inner)
    if tokenizer.vocabulary() != numbers:
        raise UsageError(f"{where}: the tokens of tokenizer.json cannot be renumbered")
    return tokenizer


def _bert_tokenizer(path: Path, settings: Mapping[str, Any], unknown: str) -> dict[str, Any]:
    """Describe the tokenizer of a `vocab.txt`: a piece per line, matched greedily in words (Devlin et al. 2019, §3)."""
    try:
        pieces = read_bounded(path, _MOST_BYTES, str(path)).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise GlassformerError(f"{path} is not UTF-8 text; the file is damaged") from error
    vocabulary = {piece.removesuffix("\r"): number for number, piece in enumerate(pieces) if piece}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=bool(settings.get("do_lower_case", True)),
        handle_chinese_chars=bool(settings.get("tokenize_chinese_chars", True)),
        strip_accents=bool(settings["strip_accents"]) if "strip_accents" in settings else None,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return dict(json.loads(tokenizer.to_str()))


def _settings(folder: Path) -> dict[str, Any]:
    """Return the settings of the tokenizer, with special tokens as plain text."""
    found: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            found |= read_settings(folder / name)
    plain = {key: value.get("content", value) if isinstance(value, dict) else value for key, value in found.items()}
    return {key: value for key, value in plain.items() if value is not None}
