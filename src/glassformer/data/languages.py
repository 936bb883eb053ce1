"""In which languages texts are written, by chardet, which knows 49 of them."""

from __future__ import annotations

from collections import Counter

import polars as pl

from glassformer.data.table import text_keys

_NAMES = {
    "ar": "Arabic", "be": "Belarusian", "bg": "Bulgarian", "br": "Breton", "cs": "Czech", "cy": "Welsh", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gd": "Scottish Gaelic", "he": "Hebrew",
    "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese",
    "kk": "Kazakh", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian", "ms": "Malay",
    "mt": "Maltese", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "tg": "Tajik", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
_MOST_LOOKED_AT = 4_000  # in a large table, a copy of all would take long
_MOST_TEXTS, _MOST_CHARACTERS = 400, 500  # half a millisecond each
_FEWEST_TEXTS = 20
_FEWEST_LETTERS = 15  # shorter texts are often taken for another language
_SHORT = 60  # letters: below, up to a quarter of the texts may be taken for one other language
_LEAST, _LEAST_OF_SHORT = 0.1, 0.3  # of the texts: below, most are mistakes
_LEAST_TOGETHER = 0.5


def languages_of(texts: pl.Series) -> dict[str, float]:
    """Return the languages that at least a tenth of the texts are in, by their shares, the most frequent first.

    If most texts have fewer than 60 letters, it is three tenths: more of them are taken for another language. Up to 400
    texts are read, evenly spread; fewer than 20 are read as one text, as a single one tells little. Texts of fewer than
    15 letters do not count. Empty if there is none, or if these languages together have less than half of the texts.
    """
    import chardet  # it takes a tenth of a second

    texts = text_keys(texts.gather_every(max(1, len(texts) // _MOST_LOOKED_AT)))
    long = texts.filter(texts.str.count_matches(r"\p{L}") >= _FEWEST_LETTERS)
    if long.is_empty():
        return {}
    some = long.gather_every(-(-len(long) // _MOST_TEXTS)).str.slice(0, _MOST_CHARACTERS)
    read = some.to_list() if len(some) >= _FEWEST_TEXTS else [" ".join(some)]
    found = Counter(chardet.detect(text.encode())["language"] for text in read)
    shares = {_NAMES[code]: count / len(read) for code, count in found.most_common() if code in _NAMES}
    short = (some.str.count_matches(r"\p{L}") < _SHORT).sum()
    least = _LEAST_OF_SHORT if 2 * short > len(some) else _LEAST
    named = {name: share for name, share in shares.items() if share >= least}
    return named if sum(named.values()) >= _LEAST_TOGETHER else {}


def in_words(shares: dict[str, float]) -> str:
    """Write the languages: "probably English", or "probably German (60%), English (35%)". Empty if there are none."""
    several = ", ".join(f"{name} ({share:.0%})" for name, share in shares.items())
    return f"probably {next(iter(shares)) if len(shares) == 1 else several}" if shares else ""
