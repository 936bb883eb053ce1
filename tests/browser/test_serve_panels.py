"""The parts of the page that look further into an answer."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import CHROMIUM, check_it_can_be_read, check_with_axe
from tests.browser.serving import running, served_page
from tests.browser.test_serve import shown
from tests.explanation.test_explain import two_readers, with_rules
from tests.serving.samples import served
from tests.serving.test_drift import knowing
from tests.tracing.test_time_lapse import lapse

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

TEXT = "not good film good"
WHY, HEADS = ".why [role=button]", ".heads td button"
LOOKED = ".heads .words [role=button]"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("reviews")
    (folder / "snapshots").mkdir()
    lapse().write(folder / "snapshots" / "time-lapse.html")
    with running(served(folder=folder)) as found:
        yield found


def typed(page: Page, text: str = TEXT) -> None:
    page.locator("#text").fill(text)
    expect(page.locator(".why .words")).to_have_text(text, use_inner_text=False)


def opened(page: Page, name: str) -> None:
    """Open a fold with the keyboard."""
    page.get_by_text(name, exact=True).focus()
    page.keyboard.press("Enter")


def asked(page: Page) -> list[str]:
    """The paths that are asked from now on."""
    paths: list[str] = []
    page.on("request", lambda request: paths.append(request.url.rpartition("/")[2]))
    return paths


def test_nothing_is_asked_before_it_is_opened(page: Page) -> None:
    paths = asked(page)
    typed(page)
    page.locator("#text").press_sequentially(" plot")
    expect(page.locator(WHY)).to_have_count(5)
    assert set(paths) - {"icon.svg"} == {"predict", "explain"}
    opened(page, "Head by head")
    expect(page.locator(HEADS)).to_have_count(2)
    opened(page, "Head by head")
    typed(page, "the plot")
    assert paths.count("heads") == 1
    opened(page, "Head by head")
    expect(page.locator(LOOKED)).to_have_count(2)
    typed(page, "the thin plot")
    expect(page.locator(LOOKED)).to_have_count(3)
    assert paths.count("heads") == 3, "an open part follows the text"


def test_what_would_turn_the_answer_is_shown_and_tried_with_the_keyboard(page: Page) -> None:
    typed(page)
    before = shown(page)
    page.get_by_role("button", name="What would turn the answer?").focus()
    page.keyboard.press("Enter")
    found = page.locator(".turning .inside")
    expect(found).to_contain_text(re.compile(r"\d+ changed texts were answered, of at most 500"))
    expect(found).to_contain_text("The answer is then")
    assert before["label"] not in found.locator("b").first.inner_text()
    assert found.locator("del").count() >= 1
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Try it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".verdict-of-change")).to_have_text(f"As written: {before['label']}, {before['confidence']}")
    changed = shown(page)
    expect(found).to_contain_text(f"The answer is then {changed['label']} {changed['confidence']}.")
    typed(page, "the plot")
    expect(found).to_be_hidden()


def test_a_search_can_be_stopped_and_ends_when_the_text_changes(page: Page) -> None:
    page.route("**/counterfactual", lambda _: None)  # never answered
    typed(page)
    button = page.locator(".turning button")
    button.click()
    expect(button).to_have_text("Stop the search")
    expect(page.locator(".turning .inside")).to_contain_text("Searching")
    button.press("Enter")
    expect(button).to_have_text("What would turn the answer?")
    expect(page.locator(".turning .inside")).to_be_hidden()
    button.press("Enter")
    page.locator("#text").press_sequentially("!")
    expect(button).to_have_text("What would turn the answer?")


def test_no_change_is_said_and_so_is_a_refusal(page: Page) -> None:
    nothing = {"changes": [], "text": TEXT, "prediction": "bad", "confidence": 0.9, "probability": 0.9}
    nothing["sentence"] = "No change of words was found that turns the answer: 500 changed texts were answered."
    page.route("**/counterfactual", lambda route: route.fulfill(json=nothing | {"answers": 500, "budget": 500}))
    typed(page)
    page.locator(".turning button").click()
    found = page.locator(".turning .inside")
    expect(found).to_contain_text("No change of words was found that turns the answer.")
    expect(found).to_contain_text("500 changed texts were answered, of at most 500.")
    page.unroute("**/counterfactual")
    page.route("**/counterfactual", lambda route: route.fulfill(status=422, json={"reason": "the moon is full"}))
    page.locator(".turning button").click()
    expect(found).to_have_text("The moon is full.")


def test_only_the_text_around_a_change_is_shown(page: Page) -> None:
    text = "not good film good " + "the plot is thin " * 12
    changes = [{"before": "film", "after": "book", "start": 9, "end": 13}]
    found = {"changes": changes, "prediction": "bad", "confidence": 0.9, "answers": 3, "budget": 500}
    page.route("**/counterfactual", lambda route: route.fulfill(json=found))
    typed(page, text)
    page.locator(".turning button").click()
    expect(page.locator(".turning .words")).to_have_text("not good without film but with book good the plot is thin …")


def test_heads_are_moved_through_with_the_keyboard(page: Page) -> None:
    typed(page)
    opened(page, "Head by head")
    expect(page.locator(HEADS)).to_have_count(2)
    strongest = page.locator(f"{HEADS}[aria-pressed=true]")
    said = page.locator(".heads .said")
    expect(said).to_contain_text("over all words, looks at")
    page.keyboard.press("Tab")
    expect(strongest).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator(HEADS).first).to_have_attribute("aria-pressed", "true")
    assert re.fullmatch(r"Block 1, head 1: [+−]\d\.\d\d", str(page.locator(HEADS).first.get_attribute("aria-label")))
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("Block 1, head 2")
    page.keyboard.press("ArrowRight")
    expect(page.locator(HEADS).nth(1)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.locator(LOOKED).nth(1)).to_be_focused()
    assert re.fullmatch(r"good \d+\.\d%", str(page.locator(LOOKED).nth(1).get_attribute("aria-label")))
    page.keyboard.press("Enter")
    expect(said).to_contain_text("Block 1, head 2, from “good”, looks at")
    expect(page.locator(LOOKED).nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(LOOKED).nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(said).to_contain_text("Block 1, head 2, over all words")


def test_a_chosen_head_stays_chosen_when_words_are_dropped_or_typed(page: Page) -> None:
    typed(page)
    opened(page, "Head by head")
    page.locator(HEADS).nth(1).click()
    page.locator(WHY).first.press("Delete")
    expect(page.locator(".verdict-of-change")).to_be_visible()
    expect(page.locator(HEADS).nth(1)).to_have_attribute("aria-pressed", "true")
    typed(page, "the thin plot")
    expect(page.locator(LOOKED)).to_have_count(3)
    expect(page.locator(HEADS).nth(1)).to_have_attribute("aria-pressed", "true")


def test_right_to_left_and_emoji_keep_their_places(page: Page) -> None:
    text = "الفيلم 🙂 جميل 👩‍👩‍👧 <b>جدا</b>"
    typed(page, text)
    opened(page, "Head by head")
    expect(page.locator(".heads .words")).to_have_text(text, use_inner_text=False)
    first, second = page.locator(LOOKED).nth(0), page.locator(LOOKED).nth(1)
    first.focus()
    page.keyboard.press("ArrowLeft")
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".heads .said")).to_contain_text("from “🙂”")
    page.locator(".turning button").click()
    expect(page.locator(".turning .inside")).to_contain_text("changed texts were answered")


def test_the_passages_of_a_long_text_are_shown_and_the_first_decides(page: Page) -> None:
    typed(page, "the plot is thin")
    expect(page.get_by_text("Passage by passage")).to_have_count(0)
    typed(page, "not good film good " + "the plot is thin " * 40)
    opened(page, "Passage by passage")
    values = [float(value.replace("−", "-")) for value in page.locator(".passages .value").all_inner_texts()[:6]]
    assert values == sorted(values, reverse=True)
    expect(page.locator(".passages li.chosen")).to_have_count(1)
    expect(page.locator(".passages .inside")).to_contain_text(re.compile(r"reads \d+ overlapping passages"))
    more = page.locator(".passages details details summary")
    expect(more).to_have_text(re.compile(r"\d+ more passages?"))
    more.press("Enter")
    assert page.locator(".passages li").count() > 6
    opened(page, "Head by head")
    expect(page.locator(".heads .inside")).to_contain_text(re.compile(r"in \d+ windows, and the figures are means"))


def test_the_time_lapse_opens_in_a_tab_of_its_own(page: Page) -> None:
    with page.context.expect_page() as found:
        page.get_by_role("link", name="How it learned").press("Enter")
    tab = found.value
    said: list[str] = []
    tab.on("pageerror", lambda error: said.append(str(error)))
    expect(tab.locator("h1")).to_have_text("A transformer while it learns")
    tab.locator("#snapshot").press("ArrowRight")
    expect(tab.locator("output")).not_to_have_text("before any step")
    assert said == []
    tab.close()


def test_a_model_that_counts_alone_has_no_heads_to_show(browser: Browser) -> None:
    with served_page(browser, served(trained=two_readers(transformer=0.0))) as page:
        typed(page, "the plot " * 12)
        expect(page.locator(".panel.trace")).to_have_text("The text is too long to show every number of its answer.")
        typed(page)
        expect(page.get_by_role("button", name="Every number of this answer")).to_be_visible()
        expect(page.locator(".readers")).to_contain_text("The model answers by counting alone")
        expect(page.locator(".heads")).to_be_empty()
        expect(page.locator(".passages")).to_be_empty()
        expect(page.locator(".lapse")).to_be_empty()
        page.locator(".turning button").click()
        expect(page.locator(".turning .inside")).to_contain_text("changed texts were answered")


def test_the_rules_that_match_are_named_and_those_alone(browser: Browser) -> None:
    rules = '"good" -> good 1.5\n"zzz" -> bad\n/f.lm/ -> bad 0.5\n'
    with served_page(browser, served(trained=with_rules(two_readers(), rules))) as page:
        typed(page)
        cells = page.locator(".panel.rules tbody tr")
        expect(cells).to_have_count(2)
        expect(cells.nth(0)).to_contain_text('line 1: "good" -> good')
        expect(cells.nth(0)).to_contain_text("+1.50")
        check_it_can_be_read(page, (".panel.rules th", ".panel.rules td"))
        typed(page, "the plot")
        expect(page.locator(".panel.rules")).to_be_empty()


def test_it_can_be_read_and_fits(page: Page) -> None:
    typed(page, "not good film good " + "the plot is thin " * 12)
    page.locator(".turning button").click()
    for name in ("Head by head", "Passage by passage"):
        opened(page, name)
    page.locator(LOOKED).nth(2).click()
    expect(page.locator(".heads .said")).to_contain_text("from “film”")
    expect(page.locator(".turning .inside")).to_contain_text("changed texts were answered")
    check_it_can_be_read(page, (".turning .link", ".lapse a", ".said", ".heads th", ".passages .text"))


def test_the_recent_texts_are_compared_when_the_part_is_opened(browser: Browser) -> None:
    with served_page(browser, knowing()) as page:
        place = page.locator(".drift")
        opened(page, "Drift: the recent texts")
        expect(place.locator("p").first).to_have_text("So far 0 texts were answered. They are compared from 100 on.")
        page.request.post(f"{page.url}predict", data={"texts": ["not good"] * 120})
        opened(page, "Drift: the recent texts")
        opened(page, "Drift: the recent texts")
        expect(place.locator("p").first).to_contain_text("The last 120 texts differ from the held-out rows")
        assert place.locator("thead th").all_inner_texts()[1:3] == ["last 120 texts", "200 held-out rows"]
        expect(place.locator("tbody tr")).to_have_count(4)
        assert place.locator("tbody td:last-child").all_inner_texts() == ["yes", "no", "yes", "no"]
        check_with_axe(page)
