"""What a key or a button of the desk is about: the text, or the search, that is on the screen."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from glassformer.desk.classes import add_classes
from glassformer.desk.project import Project
from tests.browser.chromium import CHROMIUM, let_go
from tests.browser.test_desk import labelling
from tests.desk.samples import label, project_of, some_texts

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = project_of(tmp_path, some_texts(120))
    add_classes(project.store, ["praise", "blame"])
    return project


def decided(project: Project) -> list[tuple[str, str | None]]:
    rows = project.store.rows("SELECT kind, label FROM decisions WHERE undone IS NULL ORDER BY id")
    return [(row["kind"], row["label"]) for row in rows]


def press(page: Page, key: str) -> None:
    text = str(page.locator("#given").text_content())
    page.keyboard.press(key)
    expect(page.locator("#given")).not_to_have_text(text)


@pytest.mark.parametrize("second", ["2", "ArrowRight", "-", "ArrowLeft"])
def test_a_key_waits_until_the_next_text_is_shown(browser: Browser, project: Project, second: str) -> None:
    held = list[Route]()
    with labelling(browser, project) as page:
        expect(page.locator("#typed")).to_be_focused()
        text = str(page.locator("#given").text_content())
        page.route("**/desk/next*", lambda route: held.append(route), times=1)
        with page.expect_request("**/desk/next*"):
            page.keyboard.press("1")
        page.keyboard.press(second)
        expect(page.get_by_text("1 label, 119 texts left")).to_be_visible()
        let_go(page, held)
        expect(page.locator("#given")).not_to_have_text(text)
        press(page, "2")
        assert decided(project) == [("label", "praise"), ("label", "blame")]


def test_one_undo_is_asked_for_at_a_time(browser: Browser, project: Project) -> None:
    held = list[Route]()
    with labelling(browser, project) as page:
        expect(page.locator("#typed")).to_be_focused()
        for key in "121":
            press(page, key)
        page.route("**/desk/undo", lambda route: held.append(route), times=1)
        with page.expect_request("**/desk/undo"):
            page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("2")
        text = str(page.locator("#given").text_content())
        let_go(page, held)
        expect(page.locator("#given")).not_to_have_text(text)
        press(page, "2")
        assert decided(project) == [("label", name) for name in ("praise", "blame", "blame")]


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        ("1", ("label", "praise")),
        ("ArrowRight", ("skip", None)),
        ("?", ("unsure", None)),
        ("-", ("drop", None)),
        ("Delete", ("drop", None)),
    ],
)
def test_a_key_that_is_held_down_decides_once(
    browser: Browser, project: Project, key: str, kept: tuple[str, str | None]
) -> None:
    with labelling(browser, project) as page:
        given, keys = page.locator("#given"), page.keyboard
        expect(page.locator("#typed")).to_be_focused()
        text = str(given.text_content())
        keys.down(key)
        expect(given).not_to_have_text(text)
        for _ in range(3):
            keys.down(key)
        keys.up(key)
        expect(page.locator("#typed")).to_have_value("")
        press(page, "2")
        assert decided(project) == [kept, ("label", "blame")]


def test_undo_that_is_held_down_undoes_once(browser: Browser, project: Project) -> None:
    with labelling(browser, project) as page:
        given, keys = page.locator("#given"), page.keyboard
        expect(page.locator("#typed")).to_be_focused()
        for key in "121":
            press(page, key)
        text = str(given.text_content())
        keys.down("ArrowLeft")
        expect(given).not_to_have_text(text)
        for _ in range(3):
            keys.down("ArrowLeft")
        keys.up("ArrowLeft")
        press(page, "-")
        assert decided(project) == [("label", "praise"), ("label", "blame"), ("drop", None)]


def test_a_class_of_several_that_is_held_down_stays_marked(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40))
    project.read(without_labels=True, task="several")
    add_classes(project.store, ["mood", "price"])
    with labelling(browser, project) as page:
        expect(page.locator("#typed")).to_be_focused()
        for _ in range(2):
            page.keyboard.down("1")
        page.keyboard.up("1")
        expect(page.locator(".classes [aria-pressed=true]")).to_have_text(["1 mood 0"])
        expect(page.locator("#typed")).to_have_value("")


def test_many_texts_are_labelled_by_the_search_that_is_shown(browser: Browser, project: Project) -> None:
    held, store = list[Route](), project.store
    with labelling(browser, project) as page:
        page.goto(page.url.split("#")[0] + "#texts")
        page.get_by_label("Search").fill("bad")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="60 texts")).to_be_visible()
        page.locator("#all-texts").check()
        page.route("**/desk/texts*", lambda route: held.append(route), times=1)
        with page.expect_request("**/desk/texts*"):
            page.get_by_label("Search").fill("good")
            page.keyboard.press("Enter")
        page.get_by_label("Label the marked ones as").fill("blame")
        page.keyboard.press("Enter")
        expect(page.locator(".near-texts li").first).to_contain_text("good")
        let_go(page, held)
        labelled = store.labelled()["id"].to_list()
        assert labelled == list(range(2, 121, 2)), "the bad ones"


def test_the_page_after_the_one_that_is_shown_comes_next(browser: Browser, project: Project) -> None:
    label(project, [1], "praise")
    held = list[Route]()
    with labelling(browser, project) as page:
        page.goto(page.url.split("#")[0] + "#texts")
        expect(page.get_by_role("heading", name="120 texts")).to_be_visible()
        page.route("**/desk/texts*", lambda route: held.append(route))
        for _ in range(2):
            with page.expect_request("**/desk/texts*"):
                page.get_by_role("button", name="Next →").click()
        let_go(page, held, 2)
        expect(page.locator(".near-texts li").first).to_contain_text("number 50")
