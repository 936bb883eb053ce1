"""The rules of an exported page match and count as those of `predict`."""

import dataclasses
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from glassformer.data.inputs import Category, Inputs
from glassformer.exporting.browser_rules import page_rules
from glassformer.exporting.web import joined
from glassformer.pages.html import asset
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.predictor import Predictor
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import LabelSaying, NumberSaying
from tests.browser.chromium import CHROMIUM
from tests.browser.test_web_export import (
    OF_A_NUMBER,
    as_saved,
    assert_same,
    assert_same_numbers,
    counting_alone,
    of_a_number,
    opened,
    page_of,
    typed,
)
from tests.browser.test_web_modules import HAND_PICKED
from tests.explanation.test_explain import with_rules

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

PATTERNS = (
    r"/\bINV-\d{6}\b/", r"/\w+\s\w+/", r"/\W\w/i", r"/^\S+$/", "/(?m)^b/", "/(?s)a.b/", "/a.b/", r"/[^\d\s-]+-/",
    "/k/i", "/[A-Z]{2,}/", "/ss|ß/i", r"/\.\.+/", r"/\B'/", r"/\bs\b/", "/(?:un)?lov(e|ing)?d*/", "/^x$|x y/",
    r"/[\w'-]+’/", "/é/", "/[^a-z ]/i", r"/\D\d/", "/}|]/", "/a|b/", r"/[+\-*\/]/", "/İ/i", "/[!-\\/]/",
)  # fmt: skip
PHRASES = (
    '"the plot"',
    '"l’été"',
    '"电影"',
    '"..."',
    '"café"',
    '"yes it is"',
    '"red yes"',
    '"shop=berlin"',
    '"ﬁne full"',
)
MORE = [
    "INV-123456, INV-1234567",
    "a\nb",
    "a\rb",
    "a\u2028b",
    "see\nb",
    "K ſ",
    "Straße STRASSE",
    "١٢ 3-4",
    "x",
    "un loved",
    "}",
]


def test_phrases_and_patterns_match_in_the_browser_what_they_match_here(browser: Browser) -> None:
    inputs = Inputs(texts=("question", "answer"), columns=(Category(name="shop", values=("Berlin", "Rome")),))
    row = inputs.compose({"question": "is it red", "answer": "yes it is", "shop": "Berlin"})
    texts = [*HAND_PICKED, *MORE, row]
    lines = "\n".join(f"{each} -> a" for each in (*PHRASES, *PATTERNS))
    reader = RulesReader.of(lines, LabelSaying(labels=("a", "b"), several=False), "rules.txt")
    code = joined(*(asset("exporting", f"page/{name}.js") for name in ("inputs", "tokenizer", "counting", "rules")))
    page = browser.new_page()
    found: list[list[int]] = page.evaluate(
        """async ([code, described, texts]) => {
          const blob = URL.createObjectURL(new Blob([code + "export { RulesReader };"], { type: "text/javascript" }));
          const reader = new (await import(blob)).RulesReader(described);
          return texts.map((text) => reader.matches(text));
        }""",
        [code, page_rules(reader), texts],
    )
    page.close()
    expected = reader.matcher.matches(texts)
    assert found == expected
    assert {rule for matched in expected for rule in matched} >= {*range(len(reader.rules))} - {
        6
    }  # "red yes" is not one


def test_the_page_answers_as_predict_where_rules_match_and_where_not(browser: Browser, tmp_path: Path) -> None:
    trained = with_rules(
        counting_alone(), '"the plot" -> 1 2\n/s+uper[b-d]/i -> not 2\n"never" -> 0 always\n"bad" -> 2 always'
    )
    path, model = page_of(trained, tmp_path / "out", runtime=None), as_saved(trained, tmp_path)
    texts = ["the plot is thin", "SUPERB", "bad, never bad", "never the plot", "i loved it"]
    with opened(browser, path) as page:
        assert_same(page, model, texts)
        assert model.answer(texts).predictions()[2:4] == [0, 0]  # the first rule of the file decides
        typed(page, "never the plot")
        expect(page.locator(".label")).to_have_text("0 > 99.9%")


def test_a_number_that_a_rule_decides_is_exact_in_the_page(browser: Browser, tmp_path: Path) -> None:
    trained = of_a_number(tmp_path, transformer=0.0)
    target = trained.config.target
    saying = NumberSaying(column=OF_A_NUMBER, mean=target.base, deviation=target.scale.deviation)  # type: ignore[attr-defined]
    ruled = RulesReader.of('"free" -> 0 always\n"superb" -> +2\n/aw.ul/ -> -1.5', saying, "rules.txt")
    readers = Readers.weighing({**trained.config.weights, "rules": 1.0})
    config = trained.config.model_copy(update={"readers": readers})
    trained = dataclasses.replace(trained, config=config, readers={**trained.readers, "rules": ruled})
    model, texts = Predictor(trained), ["a superb film 3", "the awful song", "a free film", "a film"]
    with opened(browser, page_of(trained, tmp_path / "out", runtime=None), OF_A_NUMBER) as page:
        assert_same_numbers(page, model, texts)
        assert model.answer(texts).values[2] == 0
        typed(page, "a free superb film")
        expect(page.locator(".label")).to_have_text("0")
