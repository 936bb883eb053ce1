"""The modules of an exported page cut texts, count n-grams and place windows as Python does."""

import unicodedata
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from glassformer.data.input_layout import Layout
from glassformer.data.inputs import SEPARATOR, Category, Inputs
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.data.windows import covering_windows
from glassformer.data.wording import percent
from glassformer.exporting.web import joined
from glassformer.pages.html import asset
from glassformer.readers.body.fitting import fit_body
from glassformer.readers.body.learning import BodySettings, learn_body
from glassformer.readers.counting.ngrams import words_of
from glassformer.readers.counting.unlike import ngram_hashes, unseen_shares
from glassformer.readers.folds import folds_of
from tests.browser.chromium import CHROMIUM
from tests.readers.body.test_body import documents, rows_of, sentences
from tests.serving.samples import INPUTS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

MODULES = ("inputs", "tokenizer", "counting", "body", "unseen", "transformer")
HAND_PICKED = [
    "",
    " ",
    "the plot is thin but i loved it",
    "The PLOT — isn't thin; it’s DON'T'S l’été rock'n'roll 's 'tis",
    "so good 🤷‍♀️ !!! 👩🏽‍🚀👨‍👩‍👧 🇻🇳 ❤️",
    "هذا الفيلم رائع جدًا، أحببته",
    "הסרט היה נהדר, אהבתי! שָׁלוֹם",
    "e\u0301a\u0323\u0302 cafe\u0301 Z͑ͫ̓a̴l̕g̷o",
    "Phim này rất hay, tôi thích lắm!",
    "Phim na\u0300y ra\u0302\u0301t hay",
    "电影很好看 and 漢字、日本語のテキストです。ﾃﾞｽ",
    "한국어 영화 \u1112\u1161\u11ab",
    "ภาพยนตร์ดีมาก พม่า မြန်မာ ລາວ ខ្មែរ",
    "फ़िल्म बहुत अच्छी थी किताबें",
    "ﬁne ＦＵＬＬ width ½ ㎏ x² ℌ Ⅷ ①",
    "ΟΔΥΣΣΕΥΣ Σίσυφος İstanbul ẞ ǅ",
    "a\tb\n\nc \u00a0 d\u2003e\u3000f\u0085g\ufeffh\x1ci",
    "1,234.50 % — “quoted” $5 #tag @user http://t.co/x_y?z=1",
    "<pad> <unk> <cls> <start> loved",
    "\u200bzero\u200d width\u00ad soft\x07",
    "x" * 130 + " " + "ß" * 101,
    "constructor __proto__ toString",
    "naïve façade grüßen ŁÓDŹ æther",
    "a  b   c    ",
    "''''s's",
    "…..!?¿¡",
]
LETTERS = "abcdefthploisSΣßİéñ ’'-.,!<>padunkcls \t\n0１½ﬁ電影のภาक्षאّ́ậ️🤷🏽\u200d한\u1112\u1161"
TEXTS = st.text(st.sampled_from(LETTERS) | st.characters(exclude_categories=["Cs", "Cn"]), max_size=40)
KINDS: list[dict[str, Any]] = [
    {"kind": "word"},
    {"kind": "word", "normalization": "nfc", "lowercase": False},
    {"kind": "word", "strip_accents": True, "normalization": "none", "max_tokens": 5},
    {"kind": "character"},
    {"kind": "byte", "normalization": "none"},
    {"kind": "bpe", "vocab_size": 400},
    {"kind": "bpe", "vocab_size": 300, "strip_accents": True},
    {"kind": "wordpiece", "vocab_size": 600},
    {"kind": "unigram", "vocab_size": 500},
]


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    page.goto("about:blank")
    names = "composed, laidOut, Tokenizer, wordsIn, plainWords, countedWords, unseenShare, coveringWindows"
    names += ", BodyReader"
    code = joined(*(asset("exporting", f"page/{name}.js") for name in MODULES)) + f"\nexport {{ {names} }};"
    blob = "URL.createObjectURL(new Blob([code], {type: 'text/javascript'}))"
    page.evaluate(f"async code => {{ window.ours = await import({blob}) }}", code)
    yield page
    page.close()


def test_a_page_writes_probabilities_as_the_terminal_does(page: Page) -> None:
    code = f"data:text/javascript,{quote(asset('pages', 'elements.js'))}"
    values = [0, 1e-9, 0.0004, 0.0006, 0.5, 0.98712, 0.9994, 0.9996, 1 - 1e-7, 1]
    said = page.evaluate("async ([code, values]) => values.map((await import(code)).chance)", [code, values])
    assert said == list(map(percent, values))


def known_to_all(text: str) -> bool:
    """Whether the library's tables, which are older than the browser's, hold all characters of the text."""
    return all(unicodedata.ucd_3_2_0.category(char) != "Cn" or char in LETTERS for char in text)


def loaded(page: Page, tokenizer: TextTokenizer, config: TokenizerConfig) -> None:
    page.evaluate(
        "([file, settings]) => { window.tokenizer = new ours.Tokenizer(JSON.parse(file), settings) }",
        [tokenizer.to_json(), config.model_dump(mode="json")],
    )


def ids_of(page: Page, texts: list[str]) -> list[list[int]]:
    found: list[list[int]] = page.evaluate("texts => texts.map(text => tokenizer.encode(text))", texts)
    return found


def test_only_a_text_that_is_cut_has_more_tokens_than_are_read(page: Page) -> None:
    config = TokenizerConfig(min_frequency=1, max_tokens=3)
    loaded(page, TextTokenizer.train(["the plot is thin"], config), config)
    code = "texts => texts.map(text => [tokenizer.tokens(text).length, tokenizer.tokens(text, Infinity).length])"
    assert page.evaluate(code, ["the plot is", "the plot is thin"]) == [[3, 3], [3, 4]]


@pytest.mark.parametrize("settings", KINDS, ids=lambda settings: "-".join(map(str, settings.values())))
def test_every_kind_of_tokenizer_gives_the_ids_of_the_library(page: Page, settings: dict[str, Any]) -> None:
    config = TokenizerConfig(min_frequency=1, **settings)
    tokenizer = TextTokenizer.train([text for text in HAND_PICKED if "🤷" not in text], config)
    loaded(page, tokenizer, config)
    assert ids_of(page, HAND_PICKED) == [ids.tolist() for ids in tokenizer.encode(HAND_PICKED)]

    @given(st.lists(TEXTS.filter(known_to_all), min_size=20, max_size=40))
    def drawn(texts: list[str]) -> None:
        assert ids_of(page, texts) == [ids.tolist() for ids in tokenizer.encode(texts)]

    drawn()


ROWS = [
    {"review": text, "reply": HAND_PICKED[-number], "shop": shop, "price": price}
    for number, (text, shop, price) in enumerate(
        zip(
            HAND_PICKED,
            [None, "berlin", " New  york ", "NEW YORK", "Ulm", "other", "Missing", "", "ber\ufdd0lin"] * 3,
            [
                None,
                3,
                "3,0",
                "5.5",
                "1,200",
                "1.234.567,5",
                "-2 %",
                "12'000",
                "cheap",
                1e300,
                4.0,
                ".5e1",
                "3.",
                "--3",
                "４",
                "١,٢٠٠",
                "५.5",
                "\ufeff4",
            ]
            * 2,
            strict=False,
        )
    )
] + [{"review": " \x1c", "reply": "\ufdd1\u3000", "shop": "Berlin", "price": 1}]


def test_rows_are_composed_as_in_python(page: Page) -> None:
    found = page.evaluate("([rows, inputs]) => rows.map(row => ours.composed(row, inputs))", [ROWS, INPUTS.described()])
    assert found == [INPUTS.compose(row) for row in ROWS]
    rows = [*filter(None, found)]
    shown = page.evaluate(
        "([rows, inputs]) => rows.map(row => ours.laidOut(row, inputs).shown)", [rows, INPUTS.described()]
    )
    assert shown == [Layout.of(row, INPUTS).text for row in rows]


def test_categories_are_told_apart_as_in_python(page: Page) -> None:
    inputs = Inputs(texts=("text",), columns=(Category(name="place", values=("Straße", "ılık", "ilik", "Σάς", "٣")),))
    given = ["STRASSE", "straẞe", "ILIK", "ılık", "İlik", "σΆΣ", "ΣΑ\u0301Σ", "٣.0", "\ufeffilik"]
    rows = [{"text": "a", "place": place} for place in given]
    found = page.evaluate("([rows, inputs]) => rows.map(row => ours.composed(row, inputs))", [rows, inputs.described()])
    assert found == [inputs.compose(row) for row in rows]


@pytest.mark.parametrize("settings", KINDS, ids=lambda settings: "-".join(map(str, settings.values())))
def test_rows_are_cut_into_the_ids_of_the_library(page: Page, settings: dict[str, Any]) -> None:
    config = TokenizerConfig(min_frequency=1, **settings)
    tokenizer = TextTokenizer.train([text for text in HAND_PICKED if "🤷" not in text], config)
    tokenizer = tokenizer.with_marks(INPUTS.tokens)
    if settings["kind"] in ("bpe", "unigram"):
        tokenizer = tokenizer.with_words(["qqq"])
    loaded(page, tokenizer, config)
    rows = [INPUTS.compose(row) for row in [*ROWS, {"review": "a qqq b", "reply": "qqq", "shop": None, "price": None}]]
    assert ids_of(page, rows) == [ids.tolist() for ids in tokenizer.encode(rows)]


def test_rows_are_counted_as_in_python(page: Page) -> None:
    rows = [INPUTS.compose(row) for row in ROWS] + ["a\ufdd0b", "a \ufdd1 b", "\ufdd0", "\ufdd1x=y\ufdd2"]
    assert page.evaluate("rows => rows.map(ours.countedWords)", rows) == [words_of(row) for row in rows]
    hashes = np.unique(np.concatenate([ngram_hashes(row) for row in rows[::2]]))
    found = page.evaluate("([rows, hashes]) => rows.map(row => ours.unseenShare(row, hashes))", [rows, hashes.tolist()])
    assert found == pytest.approx(unseen_shares(rows, hashes).tolist(), abs=1e-6)


@pytest.mark.parametrize("kind", ["word", "bpe", "wordpiece", "unigram"])
def test_learned_words_are_found(page: Page, kind: Any) -> None:
    config = TokenizerConfig(kind=kind, min_frequency=1, vocab_size=500)
    tokenizer = TextTokenizer.train(HAND_PICKED, config).with_words(["flabbergasted", "flabber", "größe"])
    loaded(page, tokenizer, config)
    texts = [
        "i was flabbergasted", "flabbergasted, flabber  flabbergastedly unflabber", " Flabber",
        "die GRÖSSE größe_ größe!",
        "a \n flabber\tflabber flabber", "電größe größe電 ._flabber .flabber", "flabber",
    ]  # fmt: skip
    assert ids_of(page, texts) == [ids.tolist() for ids in tokenizer.encode(texts)]


def test_unknown_words_are_spelled_as_the_vocabulary_would(page: Page) -> None:
    config = TokenizerConfig(min_frequency=1)
    tokenizer = TextTokenizer.train(["the plot"], config)
    loaded(page, tokenizer, config)
    text = "The Plot: Ｔhin, THIN"
    found = page.evaluate("text => tokenizer.unknownWords(text)", text)
    assert found == list(dict.fromkeys(map(tokenizer.normalised, tokenizer.unknown_words(text)))) == [":", "thin", ","]


def test_words_are_counted_alike(page: Page) -> None:
    @given(st.lists(TEXTS, min_size=20, max_size=40))
    def drawn(texts: list[str]) -> None:
        texts = [*filter(known_to_all, texts), *HAND_PICKED]
        assert page.evaluate("texts => texts.map(ours.countedWords)", texts) == [words_of(text) for text in texts]

    drawn()


def test_unseen_shares_are_the_same(page: Page) -> None:
    seen = np.unique(np.concatenate([ngram_hashes(text) for text in HAND_PICKED[2:9]]))
    texts = [*HAND_PICKED, "the plot is thick", "Phim hay"]
    found = page.evaluate("([texts, seen]) => texts.map(text => ours.unseenShare(text, seen))", [texts, seen.tolist()])
    assert found == unseen_shares(texts, seen).tolist()


def test_windows_are_the_same(page: Page) -> None:
    sizes = [(length, most) for length in (0, 1, 7, 8, 23, 24, 61, 62, 63, 1000, 1001) for most in (2, 5, 9, 24, 512)]
    found = page.evaluate("sizes => sizes.map(([length, most]) => ours.coveringWindows(length, most))", sizes)
    assert found == [covering_windows(np.array([length]), most).starts.tolist() for length, most in sizes]


@pytest.mark.parametrize("texts", [1, 2])
def test_the_body_reader_scores_as_in_python(page: Page, texts: int) -> None:
    """Of one text it holds scores of words, of two texts with few dims their vectors."""
    settings = BodySettings(dims=3, window=8, min_count=1)
    body = learn_body("small", [documents([*sentences(60, 0), *HAND_PICKED * 2])], settings, lambda _: None)
    asked = [SEPARATOR.join([text] * texts) for text in (*HAND_PICKED, *sentences(20, 1), "breadsoup zzz")]
    inputs = None if texts == 1 else Inputs(texts=("one", "other"), columns=())
    rows = rows_of(asked, [number % 2 for number in range(len(asked))], inputs)
    reader = fit_body(body, rows, folds_of(rows.truth, seed=0)).reader
    assert reader.head.shape == ((1, 2, 2) if texts == 1 else (2, 3, 2))
    described = {"words": reader.words, "pieces": reader.pieces, "pseudocount": reader.pseudocount}
    arrays = {
        name: getattr(reader, name).ravel().tolist() for name in ("weights", "values", "piece_values", "head", "bias")
    }
    run = """([described, arrays, texts]) => {
        const made = Object.entries(arrays).map(([name, values]) => [name, Float32Array.from(values)]);
        const reader = new ours.BodyReader(described, Object.fromEntries(made));
        return texts.map((text) => Array.from(reader.scores(text)));
    }"""
    found = np.array(page.evaluate(run, [described, arrays, asked]))
    assert np.allclose(found, reader.scores(asked), atol=1e-6)
    assert np.ptp(found[:, 0]) > 0.01
