"""An exported page that was cut, changed or given too much says so in a sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import CHROMIUM
from tests.browser.test_web_export import counting_alone, opened, page_of
from tests.explanation.test_explain import with_rules

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

LETTERS = 'data-file="counting.json">'


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = page_of(counting_alone(), tmp_path_factory.mktemp("whole") / "out", runtime=None)
    return path.read_text(encoding="utf-8")


def without_letters(page: str) -> str:
    start = page.index(LETTERS) + len(LETTERS) + 48
    return page[:start] + page[page.index("</script>", start) :]


DAMAGED: dict[str, tuple[Callable[[str], str], str]] = {
    "another-letter": (lambda page: page.replace(LETTERS, f"{LETTERS}$"), "its counting.json is damaged"),
    "few-letters": (without_letters, "its counting.json is damaged"),
    "no-file": (lambda page: page.replace("data-file=", "data-x="), "The model cannot run here: "),
    "no-config": (lambda page: page.replace('id="config"', 'id="other"'), "The model cannot run here: "),
    "config-is-not-json": (lambda page: page.replace('id="config">{', 'id="config">'), "The model cannot run here: "),
    "no-code": (lambda page: page.replace('id="worker"', 'id="other"'), "The model cannot run here: "),
    "broken-code": (lambda page: page.replace('id="worker">', 'id="worker">(('), "The model cannot run here: "),
}


def late(page: Page) -> None:
    """Let a minute pass for what the style sheet shows late."""
    page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_page_says_so(name: str, whole: str, browser: Browser, tmp_path: Path) -> None:
    damage, words = DAMAGED[name]
    (tmp_path / "page.html").write_text(damage(whole), encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator("#alert")).to_contain_text(words)
    expect(page.locator("#alert")).to_contain_text("copy or export it again")
    expect(page.locator("#alert")).to_be_visible()
    context.close()


@pytest.mark.parametrize("part", ["cut", "changed"])
def test_a_page_whose_script_does_not_run_says_so_after_a_minute(
    part: str, whole: str, browser: Browser, tmp_path: Path
) -> None:
    damaged = (
        whole[: whole.index(LETTERS) + 60]
        if part == "cut"
        else whole.replace("async function start", "async  function start")
    )
    (tmp_path / "page.html").write_text(damaged, encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator("#alert")).to_be_hidden()
    late(page)
    expect(page.locator("#alert")).to_be_visible()
    expect(page.locator("#alert")).to_contain_text("this file was cut short or changed")
    context.close()


def test_a_paste_of_a_megabyte_is_refused_at_once(whole: str, browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(whole, encoding="utf-8")
    with opened(browser, tmp_path / "page.html") as page:
        page.locator("#text").focus()
        page.keyboard.insert_text("the plot is thin " * 60_000)
        expect(page.locator(".refusal")).to_have_text(
            "The text has more than the 100,000 characters that are read here. Shorten it.", timeout=4_000
        )
        late(page)  # the page has started, so that it does not say otherwise
        page.locator("#text").fill("the plot")
        expect(page.locator(".label")).to_be_visible()
        expect(page.locator(".refusal")).to_be_hidden()


def test_a_pattern_without_end_is_stopped_after_a_minute(browser: Browser, tmp_path: Path) -> None:
    model = with_rules(counting_alone(), "/(?:a|a)+b/ -> 0")
    path = page_of(model, tmp_path / "out", runtime=None)
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.clock.install()
    page.goto(path.as_uri())
    expect(page.locator("#names")).to_have_text("reviews")
    page.locator("#text").fill("a" * 60)
    page.clock.run_for(1_000)
    expect(page.locator(".label")).to_have_count(0)
    page.clock.run_for(61_000)
    expect(page.locator(".refusal")).to_contain_text("it took more than 60 seconds")
    page.locator("#text").fill("a text")
    page.clock.run_for(1_000)
    expect(page.locator(".refusal")).to_contain_text("load the page again")
    context.close()
