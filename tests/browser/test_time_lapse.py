import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from glassformer.tracing.snapshot import Scored, cross_entropy
from tests.browser.chromium import CHROMIUM, check_with_axe, open_quietly
from tests.tracing.test_time_lapse import lapse

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

FOUND = lapse()
PICTURE = "canvas => canvas.toDataURL()"


def opened(browser: Browser, tmp_path: Path, **settings: Any) -> Page:
    FOUND.write(tmp_path / "time-lapse.html")
    page = browser.new_page(**({"viewport": {"width": 1000, "height": 844}} | settings))
    assert open_quietly(page, tmp_path / "time-lapse.html") == ([], [])
    return page


def places(page: Page) -> list[str]:
    return [str(word.evaluate("group => group.style.transform")) for word in page.locator(".word").all()]


def test_the_slider_moves_everything(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path)
    assert page.locator("output").inner_text() == "before any step"
    canvas, marker = page.locator("canvas").nth(1), page.locator("line.now")
    before = canvas.evaluate(PICTURE), places(page), marker.evaluate("line => line.style.transform")
    page.locator("#snapshot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("output").inner_text() == "after step 90"
    after = canvas.evaluate(PICTURE), places(page), marker.evaluate("line => line.style.transform")
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert page.locator("#loss-0").inner_text() == "0.250"
    assert page.locator("#loss-1").inner_text() == "0.400"
    logits = FOUND.snapshots[2].logits.astype(np.float64)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for number, row in enumerate(page.locator("#table tbody tr").all()):
        answer = FOUND.subject.labels[probs[number].argmax()]
        assert f"{answer} {'✓' if answer == 'good, fine' else '✗'}" in row.inner_text()
        assert float(row.inner_text().split()[-1].removesuffix("%")) == pytest.approx(
            100 * probs[number].max(), abs=0.1
        )
    page.close()


def test_a_cell_says_who_looks_at_whom(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path)
    page.locator("#snapshot").fill("1")
    page.get_by_label("Text").select_option(index=1)
    page.get_by_label("Block").select_option(index=1)
    page.locator("canvas").nth(2).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    weight = FOUND.snapshots[1].attention[1][1, 2, 2, 1]
    said = page.locator("#cell").inner_text()
    assert said == f"Head 3: “<b>fine</b>” looks at “a” with {weight:.1%}."
    box = page.locator("canvas").nth(0).bounding_box()
    assert box is not None
    page.locator("canvas").nth(0).hover(position={"x": box["width"] - 3, "y": box["height"] - 3})
    weight = FOUND.snapshots[1].attention[1][1, 0, 4, 4]
    said = page.locator("#cell").inner_text()
    assert said == f"Head 1: “</script>” looks at “</script>” with {weight:.1%}."
    page.close()


def test_play_goes_to_the_end_and_stops(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path)
    page.wait_for_timeout(200)
    assert page.locator("output").inner_text() == "before any step"  # nothing moves by itself
    page.locator("#play").click()
    assert page.locator("#play").inner_text() == "Pause"
    expect(page.locator("output")).to_have_text("after step 90")
    assert page.locator("#play").inner_text() == "Play"
    first = (
        "play => { play.click(); const first = document.querySelector('output').innerText; play.click(); return first }"
    )
    assert page.locator("#play").evaluate(first) == "before any step"  # from the start again, and stopped at once
    page.wait_for_timeout(200)
    assert page.locator("output").inner_text() == "before any step"
    page.close()


def test_nothing_glides_for_those_who_do_not_want_it(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, tmp_path)
    lasts = "word => parseFloat(getComputedStyle(word).transitionDuration)"
    assert page.locator(".word").first.evaluate(lasts) > 0
    page.emulate_media(reduced_motion="reduce")
    assert page.locator(".word").first.evaluate(lasts) == 0
    page.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1000)])
def test_the_page_fits_and_can_be_read(browser: Browser, tmp_path: Path, scheme: Any, width: int) -> None:
    page = opened(browser, tmp_path, color_scheme=scheme, viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    check_with_axe(page)
    page.close()


def test_numbers_are_shown_in_their_unit(browser: Browser, tmp_path: Path) -> None:
    scored = Scored(loss=cross_entropy, answers=lambda scores: 100 + 10 * scores, unit="of a test", column="price")
    texts = [dataclasses.replace(text, labels=("104.25",)) for text in FOUND.subject.texts]
    subject = dataclasses.replace(FOUND.subject, labels=("price",), scored=scored, texts=tuple(texts))
    shots = [dataclasses.replace(each, logits=each.logits[:, :1]) for each in FOUND.snapshots]
    dataclasses.replace(FOUND, subject=subject, snapshots=tuple(shots)).write(tmp_path / "numbers.html")
    page = browser.new_page()
    assert open_quietly(page, tmp_path / "numbers.html") == ([], [])
    assert page.locator("#table th[scope=col]").all_inner_texts() == ["Text", "price", "Answer"]
    for row, (score,) in zip(page.locator("#table tbody tr").all(), shots[0].logits.tolist(), strict=True):
        assert row.locator("td").all_inner_texts() == ["104.3", f"{100 + 10 * score:.4g}"]
    expect(page.locator("#curve")).to_contain_text("at each snapshot, of a test.")
    page.close()
