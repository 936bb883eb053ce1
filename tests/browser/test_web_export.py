"""An exported page answers in Chromium with the network off, as Python answers."""

import functools
import gzip
import http.server
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from glassformer.data.wording import short
from glassformer.exporting.web import write_web
from glassformer.prediction.answering import Answering
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.exported import ExportedPredictor
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.reader import CountingReader
from glassformer.readers.counting.unlike import Seen, UnlikeConfig, ngram_hashes
from glassformer.targets.labels.target import labels_of
from tests.browser.chromium import CHROMIUM, check_it_can_be_read, check_with_axe, open_quietly
from tests.browser.test_web_modules import HAND_PICKED
from tests.explanation.test_explain import two_readers
from tests.exporting.test_onnx import exported
from tests.exporting.test_onnx import without_checks_of_shapes as without_checks_of_shapes  # a fixture
from tests.serving.samples import INPUTS, ROW, of_numbers, of_rows
from tests.trained import Trained

RUNTIME = os.environ.get("GLASSFORMER_ORT_WEB")
"""The folder of the npm package onnxruntime-web."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
with_runtime = pytest.mark.skipif(
    not RUNTIME, reason="GLASSFORMER_ORT_WEB does not name a folder of ONNX Runtime Web (npm pack onnxruntime-web)"
)

TEXT = "The plot is thin, but i loved it"
TEXTS = [TEXT, "it", "zzz", "not again " * 30, "and at all", *filter(str.strip, HAND_PICKED)]
WORDS = ".words [role=button]"
ASKED = """([task, text]) => new Promise((done) => {
  const post = self.postMessage;
  self.postMessage = (said) => { self.postMessage = post; done(said); };
  onmessage({ data: { id: 0, task, text } });
})"""

COMPRESSED = functools.cache(gzip.compress)
"""Each page holds the same runtime."""


def page_of(trained: TrainedModel, folder: Path, *, runtime: str | None = RUNTIME) -> Path:
    folder.mkdir()
    with patch.object(gzip, "compress", COMPRESSED):
        write_web(trained, folder, name="reviews", runtime=None if runtime is None else Path(runtime))
    return folder / "index.html"


def counting_alone() -> TrainedModel:
    seen = Seen(hashes=np.unique(ngram_hashes(TEXT)), config=UnlikeConfig(threshold=0.5, held_out_rows=3))
    trained = two_readers(transformer=0.0, labels=(0, 1, 2))
    return replace(trained, seen=seen, config=trained.config.model_copy(update={"unlike": seen.config}))


def as_saved(trained: TrainedModel, folder: Path) -> Predictor:
    """The model as a folder would hold it: the weights of its counting reader in float16."""
    assert trained.counting is not None
    trained.counting.save(folder)
    counting = CountingReader.load(folder)
    return Predictor(replace(trained, readers={**trained.readers, "counting": counting}))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(counting_alone(), tmp_path_factory.mktemp("web") / "out", runtime=None)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(two_readers(), tmp_path_factory.mktemp("both") / "out")


@contextmanager
def opened(browser: Browser, path: Path, named: str = "reviews", **settings: Any) -> Iterator[Page]:
    """Open a page from its file with the network off, wait for its model, and see that it asks for nothing."""
    context = browser.new_context(offline=True, **settings)
    page = context.new_page()
    said, asked = open_quietly(page, path)
    expect(page.locator("#names")).to_have_text(named)
    yield page
    assert page.locator("#alert").is_hidden()
    assert said == []
    assert [url for url in asked if not url.startswith("blob:")] == []
    context.close()


def ask(page: Page, task: str, text: Any) -> dict[str, Any]:
    """Ask what answers in the page, beside what the page itself asks."""
    said = page.workers[0].evaluate(ASKED, [task, text])
    assert "error" not in said, said
    return dict(said["found"])


def assert_same(page: Page, model: Answering, texts: list[str], *, tolerance: float = 1e-4) -> None:
    answers = model.answer(texts)
    for row, (text, expected) in enumerate(zip(texts, answers.records(), strict=True)):
        found = ask(page, "answer", text)
        probabilities = {str(label): float(prob) for label, prob in answers.ranked(row)}
        assert found["probabilities"] == pytest.approx(probabilities, abs=tolerance), text
        labels = expected["prediction"]
        assert found["prediction"] == ([*map(str, labels)] if isinstance(labels, list) else str(labels)), text
        assert found["confidence"] == pytest.approx(expected["confidence"], abs=tolerance), text
        assert found["readers"] == pytest.approx(expected.get("readers"), abs=10 * tolerance), text
        assert found["unseen_share"] == pytest.approx(expected["unseen_share"], abs=1e-6), text
        assert found["unlike_training"] == expected["unlike_training"], text


def test_counting_alone_answers_as_in_python(browser: Browser, small: Path, tmp_path: Path) -> None:
    with opened(browser, small) as page:
        assert_same(page, as_saved(counting_alone(), tmp_path), TEXTS)
        assert ask(page, "answer", " \n\x1f\u3000")["prediction"] is None


def test_the_path_of_several_levels_is_that_of_python(browser: Browser, tmp_path: Path) -> None:
    labels = ("good > fine", "good > great", "bad > dull", "bad")
    trained = two_readers(transformer=0.0, labels=labels, levels=" > ")
    model, ends = as_saved(trained, tmp_path), set()
    with opened(browser, page_of(trained, tmp_path / "out", runtime=None)) as page:
        for text, expected in zip(TEXTS, model.answer(TEXTS).records(), strict=True):
            found = ask(page, "answer", text)
            assert found["path"] == expected["path"], text
            assert found["path_probability"] == pytest.approx(expected["path_probability"], abs=1e-4), text
            ends.add(expected["path"] in labels)
        assert ends == {True, False}
        assert ask(page, "answer", " ")["path"] is None
        page.fill("#text", TEXT)
        expect(page.get_by_text(re.compile("Sure of: (good|bad)"))).to_be_visible()


OF_A_NUMBER = "reviews: score"


def of_a_number(folder: Path, **weights: float) -> TrainedModel:
    """A model of a number with these weights of its readers, as its folder holds it."""
    of_numbers(folder / "model")
    trained = load_model(folder / "model", CLASSIFIER)
    readers = Readers.weighing(trained.config.weights | weights)
    return replace(trained, config=trained.config.model_copy(update={"readers": readers}))


def assert_same_numbers(page: Page, model: Answering, texts: list[str]) -> None:
    for text, expected in zip(texts, model.answer(texts).records(), strict=True):
        found = ask(page, "answer", text)
        for name in ("prediction", "interval_low", "interval_high", "unseen_share", "readers"):
            assert found[name] == pytest.approx(expected[name], abs=1e-4), (text, name)
        assert found["unlike_training"] == expected["unlike_training"], text


def test_a_number_is_answered_with_its_interval(browser: Browser, tmp_path: Path) -> None:
    trained = of_a_number(tmp_path, transformer=0.0)
    model, path = Predictor(trained), page_of(trained, tmp_path / "out", runtime=None)
    texts = ["a superb film 3", "the awful song", *TEXTS]
    assert f"<title>{OF_A_NUMBER} · glassformer</title>" in path.read_text()
    with opened(browser, path, OF_A_NUMBER, bypass_csp=True) as page:
        assert page.title() == f"{OF_A_NUMBER} · glassformer"
        assert_same_numbers(page, model, texts)
        assert len({ask(page, "answer", text)["prediction"] for text in texts[:2]}) == 2
        assert ask(page, "answer", " ")["interval_low"] is None
        whole, without = model.answer(["a superb film", "a  film"]).values
        words = {word["word"]: word for word in ask(page, "explanation", "a superb film")["words"]}
        assert words["superb"]["total"] == pytest.approx(whole - without, abs=1e-4)
        typed(page, "a superb film")
        low, high = (model.answer(["a superb film"]).values[0] + sign * model.answer([""]).distance for sign in (-1, 1))
        expect(page.locator(".label")).to_have_text(short(whole))
        expect(page.locator(".answer")).to_contain_text(f"{short(low)} to {short(high)}: such an interval")
        expect(page.locator(".legend")).to_contain_text("raises the number")
        check_with_axe(page)


@with_runtime
def test_both_readers_answer_a_number_as_in_python(browser: Browser, tmp_path: Path) -> None:
    trained = of_a_number(tmp_path, transformer=0.5)
    with opened(browser, page_of(trained, tmp_path / "out"), OF_A_NUMBER) as page:
        assert_same_numbers(page, Predictor(trained), TEXTS)


@with_runtime
@pytest.mark.parametrize(
    ("labels", "multilabel"), [(("no", "yes"), False), (("bad", "fine", "good"), True)], ids=["two", "several"]
)
def test_both_readers_answer_as_in_python(
    labels: tuple[str, ...], multilabel: bool, browser: Browser, tmp_path: Path
) -> None:
    trained = two_readers(labels=labels, multilabel=multilabel)
    path = page_of(trained, tmp_path / "out")
    with opened(browser, path) as page:
        assert_same(page, as_saved(trained, tmp_path), TEXTS)


@with_runtime
def test_rows_of_several_inputs_are_answered_as_in_python(browser: Browser, tmp_path: Path) -> None:
    trained = of_rows()
    model, given = as_saved(trained, tmp_path), [ROW | {"reply": text, "price": len(text)} for text in TEXTS]
    with opened(browser, page_of(trained, tmp_path / "out"), bypass_csp=True) as page:
        for row, expected in zip(given, model.answer([INPUTS.compose(row) for row in given]).records(), strict=True):
            found = ask(page, "answer", row)
            assert found["prediction"] == expected["prediction"]
            assert found["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-4)
            assert found["readers"] == pytest.approx(expected["readers"], abs=1e-3)
        for name in ("review", "reply"):
            page.get_by_label(name, exact=True).fill(str(ROW[name]))
        page.get_by_label("shop", exact=True).select_option("Berlin")
        page.get_by_label("price", exact=True).fill("4")
        shown = ["shop=Berlin", "price=3 to 5.5", "the", "plot", "is", "thin", "not", "again"]
        expect(page.locator(WORDS)).to_have_text(shown)
        words = {word["word"]: word for word in ask(page, "explanation", ROW)["words"]}
        changed = [ROW, ROW | {"shop": None}, ROW | {"review": "the  is thin"}]
        logits = model.logits([INPUTS.compose(row) for row in changed])
        first, second = np.argsort(-logits[0])[:2]
        margins = (logits[:, first] - logits[:, second]) / labels_of(trained.config.target).temperature
        assert words["shop=Berlin"]["total"] == pytest.approx(margins[0] - margins[1], abs=1e-4)
        assert words["plot"]["total"] == pytest.approx(margins[0] - margins[2], abs=1e-4)
        page.locator(WORDS).nth(0).focus()
        page.keyboard.press("Delete")
        page.locator(WORDS).nth(3).focus()
        page.keyboard.press("Delete")
        page.get_by_role("button", name="Keep").click()
        expect(page.get_by_label("shop", exact=True)).to_have_value("")
        expect(page.locator(WORDS)).to_have_text(
            ["shop=missing", "price=3 to 5.5", "the", "is", "thin", "not", "again"]
        )
        check_with_axe(page)


@with_runtime
def test_weights_of_one_byte_answer_as_the_same_export_does(
    attending: Trained, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(attending.table.parent)
    trained = load_model(attending.folder, CLASSIFIER)
    path = page_of(trained, tmp_path / "out")
    model = exported(trained, tmp_path / "int8", precision="int8")
    assert isinstance(model, ExportedPredictor)
    with opened(browser, path) as page:
        # A number just beside the border of two bytes may fall to the other side.
        assert_same(page, model, ["good film 3", "dull book 200", "poor play and great song", "x"], tolerance=2e-3)


@with_runtime
def test_both_readers_answer_and_words_are_coloured_by_leaving_each_out(
    browser: Browser, both: Path, tmp_path: Path
) -> None:
    trained = two_readers()
    model = as_saved(trained, tmp_path)
    logits = model.logits([TEXT, TEXT.replace("thin", ""), TEXT.replace("loved", "")])
    first, second = np.argsort(-logits[0])[:2]
    margins = (logits[:, first] - logits[:, second]) / labels_of(trained.config.target).temperature
    with opened(browser, both) as page:
        assert_same(page, model, TEXTS)
        assert "60 tokens in 4 overlapping windows of 24" in ask(page, "answer", "not again " * 30)["reading"]["note"]
        assert ask(page, "answer", "the zzz PLOT yyy")["reading"]["unknown_words"] == ["zzz", "yyy"]
        found = ask(page, "explanation", TEXT)
        words = {word["word"]: word for word in found["words"]}
        assert list(words) == ["The", "plot", "is", "thin", ",", "but", "i", "loved", "it"]
        for number, word in enumerate(("thin", "loved"), start=1):
            assert words[word]["total"] == pytest.approx(margins[0] - margins[number], abs=1e-4)
            assert words[word]["counting"] + words[word]["transformer"] == pytest.approx(words[word]["total"])
            assert TEXT[words[word]["start"] : words[word]["end"]] == word
        assert (found["label"], found["rival"]) == (
            labels_of(trained.config.target).labels[first],
            labels_of(trained.config.target).labels[second],
        )
        typed(page)
        expect(page.locator(WORDS)).to_have_count(9)
        assert page.locator(".readers .value").count() == 2


def typed(page: Page, text: str = TEXT) -> None:
    page.locator("#text").fill(text)
    expect(page.locator(WORDS).first).to_be_visible()
    expect(page.locator(".words")).to_have_text(text, use_inner_text=False)


def test_a_text_is_answered_as_it_is_typed(browser: Browser, small: Path) -> None:
    with opened(browser, small) as page:
        expect(page).to_have_title("reviews · glassformer")
        page.locator("#text").press_sequentially("the plot")
        expect(page.locator(".label")).to_be_visible()
        typed(page)
        expected = ask(page, "answer", TEXT)
        names = page.locator(".answer .name").all_inner_texts()
        assert names == sorted(names, key=lambda name: -expected["probabilities"][name])
        assert names != sorted(names)  # labels that are numbers are ranked too
        label, _, confidence = page.locator(".label").inner_text().rpartition(" ")
        assert (label, confidence) == (expected["prediction"], f"{expected['confidence']:.1%}")
        expect(page.locator("#spoken")).to_have_text(f"reviews: {label}, {confidence}.")
        page.locator("#text").fill("zwei drei vier fünf")
        expect(page.locator(".answer .note")).to_contain_text("unlike the training data")
        page.locator("#text").fill(" ")
        expect(page.locator(".label")).to_have_count(0)
        expect(page.locator(".why")).to_be_hidden()


def test_a_word_is_dropped_and_put_back_with_the_keyboard(browser: Browser, small: Path) -> None:
    with opened(browser, small) as page:
        typed(page)
        before = page.locator(".label").inner_text()
        page.locator("#text").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Delete")
        expect(page.locator(WORDS).nth(1)).to_have_class(re.compile("dropped"))
        expect(page.locator(".verdict-of-change")).to_be_visible()
        page.keyboard.press("Delete")
        expect(page.locator(".verdict-of-change")).to_have_count(0)
        assert page.locator(".label").inner_text() == before
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog", name="The word plot")).to_be_visible()


def test_the_policy_stops_every_request(browser: Browser, small: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(small.as_uri())
    expect(page.locator("#names")).to_have_text("reviews")
    tries = "fetch('https://example.com').then(() => 'sent', (error) => error.name)"
    assert page.evaluate(tries) == "TypeError"
    assert page.workers[0].evaluate(tries) == "TypeError"
    assert page.evaluate("() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
                         " document.body.append(s); return window.ran }") is None  # fmt: skip
    context.close()


@contextmanager
def static_server(folder: Path) -> Iterator[str]:
    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=folder)) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@with_runtime
def test_a_static_server_is_asked_once(browser: Browser, both: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with static_server(both.parent) as url:
        page.goto(url)
        expect(page.locator("#names")).to_have_text("reviews")
    context.set_offline(True)
    typed(page)
    assert [seen for seen in asked if not seen.startswith("blob:")] == [url]
    context.close()


def test_what_a_text_or_a_name_holds_is_never_html(browser: Browser, tmp_path: Path) -> None:
    trained = two_readers(
        transformer=0.0, labels=("<b>bad</b>", "</script><script>document.title='caught'</script>", "good")
    )
    with opened(browser, page_of(trained, tmp_path / "out", runtime=None)) as page:
        typed(page, "<img src=x onerror=\"document.title='caught'\"> </script>")
        expect(page).to_have_title("reviews · glassformer")
        assert "<b>bad</b>" in page.locator(".answer").inner_text()


def test_a_text_that_is_too_long_to_explain_is_still_answered(browser: Browser, small: Path) -> None:
    with opened(browser, small) as page:
        page.locator("#text").fill("the plot is thin " * 4_000)
        expect(page.locator(".label")).to_be_visible()
        expect(page.locator(".trust")).to_contain_text("too long to read it again")


def test_the_page_fits_and_can_be_read(browser: Browser, small: Path) -> None:
    with opened(browser, small, bypass_csp=True) as page:  # axe runs as a script, which the policy forbids
        typed(page, TEXT + " and thisisaverylongwordwithoutanyspaceinit" * 3)
        check_it_can_be_read(page)
