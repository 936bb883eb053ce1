from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page

from glassformer.prediction.predictor import Predictor
from glassformer.tracing.exercise import choose_blanks
from glassformer.tracing.trace import Trace, trace
from glassformer.tracing.writing import write_trace
from tests.browser.chromium import CHROMIUM, CONTRAST, LOOKS, open_quietly
from tests.explanation.test_explain import two_readers
from tests.prediction.samples import small_trained_model
from tests.tracing.test_trace import DESIGNS, KINDS, OF_PLAIN_MATRICES, TEXT, predictor_of

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

RECOMPUTE = """() => {
  SOURCES
  const trace = JSON.parse(document.getElementById("trace-data").textContent);
  const matrices = Object.fromEntries(trace.matrices.map((matrix) => [matrix.name, matrix]));
  for (const matrix of trace.matrices) {
    const bytes = Uint8Array.from(atob(matrix.values), (letter) => letter.charCodeAt(0));
    matrix.values = new Float32Array(bytes.buffer);
  }
  const wrong = [];
  let checked = 0;
  for (const matrix of trace.matrices.filter((each) => !each.operation.startsWith("lookup"))) {
    const most = matrix.values.filter(Number.isFinite).map(Math.abs).reduce((a, b) => Math.max(a, b), 1);
    for (let place = 0; place < matrix.values.length; place += 1 + Math.floor(matrix.values.length / 60)) {
      const cell = matrix.shape.map((length, axis) =>
        Math.floor(place / matrix.shape.slice(axis + 1).reduce((product, each) => product * each, 1)) % length);
      const found = sources(matrices, matrix, cell);
      const there = found.groups.every(([from, cells]) => from && cells.every((at) =>
        at.length === from.shape.length && at.every((index, axis) => index >= 0 && index < from.shape[axis])));
      const right = found.value === matrix.values[place] || Math.abs(found.value - matrix.values[place]) / most < 1e-5;
      if (!there || !right) wrong.push(`${matrix.name}[${cell}] ${found.value} ${matrix.values[place]}`);
      checked += 1;
    }
  }
  return [checked, wrong];
}""".replace("SOURCES", files("glassformer.tracing").joinpath("sources.js").read_text(encoding="utf-8"))

HIDDEN = """const hidden = new CSSStyleSheet();
hidden.replaceSync("body { display: none }");
document.adoptedStyleSheets = [hidden];"""
FILL = """answers => answers.forEach((answer, number) => {
  document.querySelectorAll("#score .jump")[number].click();
  document.activeElement.value = answer;
  document.activeElement.dispatchEvent(new Event("change", { bubbles: true }));
})"""


def both(text: str = TEXT) -> Trace:
    return trace(Predictor(two_readers()), text)


def opened(browser: Browser, tmp_path: Path, found: Trace, *, exercise: bool = False, **settings: Any) -> Page:
    path = tmp_path / "trace.html"
    write_trace(path, found, choose_blanks(found) if exercise else ())
    page = browser.new_page(**settings)
    assert open_quietly(page, path) == ([], [])
    return page


def matrix(page: Page, name: str) -> Locator:
    return page.locator(".matrix").filter(has=page.locator(f'code:text-is("{name}")')).first


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page for one trace after another, and what its console says. Painting it would take half of the time."""
    page = browser.new_page()
    page.add_init_script(HIDDEN)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page, said
    page.close()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "base"])  # `small`, but large
def test_each_number_comes_from_the_numbers_that_the_page_says(
    tab: tuple[Page, list[str]], tmp_path: Path, kind: str
) -> None:
    page, said = tab
    write_trace(tmp_path / "trace.html", trace(*KINDS[kind]()), ())
    page.goto((tmp_path / "trace.html").as_uri())
    checked, wrong = page.evaluate(RECOMPUTE)
    assert wrong == []
    assert checked > 100
    assert said == []


def test_the_page_fits_and_can_be_read(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, both())
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 844})
        page.reload()
        page.locator(".grid td[data-place]").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for selector in (".grid th[scope=col]", ".about", ".formula", ".windows", ".jump", "#panel p", "label"):
            assert page.locator(selector).first.evaluate(CONTRAST) >= 4.5, selector
    page.close()


def test_a_number_shows_its_sources_by_mouse_and_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path, both(), viewport={"width": 1000, "height": 844})
    scores = "blocks.0.attention.scores"
    matrix(page, scores).locator('td[data-place="1,2"]').hover()
    assert matrix(page, "blocks.0.attention.query").locator("tr:nth-child(2) td.source").count() == 8
    assert matrix(page, "blocks.0.attention.key").locator("tr:nth-child(3) td.source").count() == 8
    assert page.locator(".source").count() == 16
    matrix(page, scores).locator('td[data-place="0,0"]').focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert "blocks.0.attention.scores[1, (start), The]" in page.locator("#panel").inner_text()
    assert "from 3 other products" in page.locator("#panel").inner_text()
    page.locator("#panel .jump").first.click()
    assert page.evaluate("document.activeElement.closest('.matrix').querySelector('code').textContent").endswith(
        "query"
    )
    page.keyboard.press("Escape")
    page.mouse.move(0, 0)
    assert page.locator(".chosen").count() <= 1
    page.close()


def test_a_part_says_what_it_shows_and_moves(browser: Browser, tmp_path: Path) -> None:
    found = both()
    page = opened(browser, tmp_path, found, viewport={"width": 700, "height": 844})
    embedding = matrix(page, "embedding")
    parts = embedding.locator(".part")
    assert "tokens 1–8 of 10" in parts.first.inner_text()
    assert "features 1–7 of 16" in parts.last.inner_text()
    parts.last.locator(".later").click()
    assert "features 8–14 of 16" in embedding.locator(".part").last.inner_text()
    shown = embedding.locator('td[data-place="0,13"]').inner_text()
    assert float(shown.replace("−", "-")) == pytest.approx(found["embedding"][0, 13], abs=0.006)
    embedding.locator('td[data-place="7,13"]').focus()
    page.keyboard.press("ArrowDown")
    assert "tokens 2–9 of 10" in embedding.locator(".part").first.inner_text()
    assert page.evaluate("document.activeElement.dataset.place") == "8,13"
    page.close()


def test_blocks_and_heads_are_chosen(browser: Browser, tmp_path: Path) -> None:
    found = trace(predictor_of(DESIGNS["norm=rms"]), TEXT)
    page = opened(browser, tmp_path, found)
    weight = matrix(page, "blocks.0.attention.weights").locator('td[data-place="1,1"]')
    assert float(weight.inner_text()) == pytest.approx(found["blocks.0.attention.weights"][0, 1, 1], abs=0.006)
    page.locator("#choose-block").fill("2")
    page.locator("#choose-head").fill("2")
    assert page.locator("#block h2").inner_text() == "Block 2 of 2"
    weight = matrix(page, "blocks.1.attention.weights").locator('td[data-place="1,1"]')
    assert float(weight.inner_text()) == pytest.approx(found["blocks.1.attention.weights"][1, 1, 1], abs=0.006)
    assert matrix(page, "blocks.0.attention.weights").count() == 0
    page.close()


def test_gradients_take_the_place_of_numbers(browser: Browser, tmp_path: Path) -> None:
    found = both()
    page = opened(browser, tmp_path, found)
    page.locator("#gradients").check()
    (logits,) = [each for each in found if each.step.name == "logits"]
    assert logits.gradient is not None
    shown = [
        float(text.replace("−", "-")) for text in matrix(page, "logits").locator("td[data-place]").all_inner_texts()
    ]
    np.testing.assert_allclose(shown, logits.gradient)
    assert "No gradient" in matrix(page, "counting.logits").inner_text()
    page.close()


def test_an_exercise_checks_what_is_filled_in(browser: Browser, tmp_path: Path) -> None:
    found = both()
    blank = choose_blanks(found)[-1]
    truth = found[blank.name][blank.cell]
    page = opened(browser, tmp_path, found, exercise=True)
    page.locator("#score .jump").nth(7).click()
    answer = page.locator("td input:focus")
    page.mouse.move(500, 400)  # another number may lie there
    assert "= ?" in page.locator("#panel").inner_text()
    assert str(truth)[:5] not in page.locator("#panel").inner_text()
    answer.fill(str(truth + 1))
    answer.press("Tab")
    assert "Not yet" in page.locator("#score").inner_text()
    assert "0 of 8 right" in page.locator("#score").inner_text()
    page.locator("#score .jump").nth(7).click()
    answer.fill(f"{truth:.2f}".replace("-", "−"))
    answer.press("Tab")
    assert "1 of 8 right" in page.locator("#score").inner_text()
    assert page.locator("td input").count() < 8
    page.close()


@pytest.mark.parametrize("design", OF_PLAIN_MATRICES)
def test_the_exercise_of_a_published_design_can_be_done(browser: Browser, tmp_path: Path, design: str) -> None:
    found = trace(predictor_of(DESIGNS[design]), TEXT)
    page = opened(browser, tmp_path, found, exercise=True)
    blanks = choose_blanks(found)
    page.evaluate(FILL, [f"{found[blank.name][blank.cell]:.4f}" for blank in blanks])
    assert f"{len(blanks)} of {len(blanks)} right. All of them." in page.locator("#score").inner_text()
    page.close()


def test_a_number_below_the_panel_can_be_clicked_and_a_pinned_one_let_go_without_a_keyboard(
    browser: Browser, tmp_path: Path
) -> None:
    page = opened(browser, tmp_path, both(), viewport={"width": 1000, "height": 844})
    number = matrix(page, "embedding").locator('td[data-place="0,0"]')
    number.evaluate("cell => scrollBy(0, cell.getBoundingClientRect().bottom - innerHeight + 5)")
    box = number.bounding_box()
    assert box
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.wait_for_selector("#panel:not([hidden])")
    page.mouse.down()
    page.mouse.up()
    assert page.locator("#panel strong").inner_text().startswith("embedding[")
    page.locator("#panel .close").click()
    assert page.locator("#panel").is_hidden()
    page.close()


def test_an_exercise_lists_every_number_that_is_needed_and_its_panel_can_be_closed(
    browser: Browser, tmp_path: Path
) -> None:
    found = both("The plot is thin, but i loved it, and the plot is good")
    page = opened(browser, tmp_path, found, exercise=True)
    softmax = matrix(page, "blocks.0.attention.weights").locator('td[data-place="1,1"]')
    softmax.click()
    assert "more" not in page.locator("#panel").inner_text()
    assert page.locator("#panel .jump").count() == len(found.tokens) > 10
    page.keyboard.press("Escape")
    page.locator("#score .jump").nth(0).click()
    page.locator("#panel .close").click()
    assert page.locator("#panel").is_hidden()
    page.close()


def test_a_remark_is_one_line_and_the_names_of_two_classes_are_whole(browser: Browser, tmp_path: Path) -> None:
    labels = ("negative", "positive", "surprised")
    page = opened(browser, tmp_path, trace(Predictor(small_trained_model(labels=labels)), TEXT))
    cut = "names => names.filter((name) => name.scrollWidth > name.clientWidth).length"
    assert matrix(page, "logits").locator("thead th").evaluate_all(cut) == 0
    page.locator("#gradients").check()
    assert matrix(page, "token_ids").locator("caption").evaluate("caption => caption.clientHeight") < 40
    page.close()
