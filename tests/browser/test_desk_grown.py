"""The desk of a table that has grown, and new names of its classes."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from glassformer.desk.classes import add_classes
from glassformer.desk.project import Project
from glassformer.desk.reading_again import read_again
from tests.browser.chromium import CHROMIUM
from tests.browser.test_desk import go_to, labelling, opened
from tests.desk.samples import label, project_of, some_texts
from tests.trained import write_csv

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def test_rows_that_came_are_told_and_labelled(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(2))
    label(project, [1, 2], "praise")
    project.store.close()
    table = write_csv(tmp_path / "texts.csv", [(text,) for text in [*some_texts(2), "a long song"]], ("text",))
    with Project.opened(tmp_path / "desk", None) as project:
        read_again(project, table, "texts.csv")
        with opened(browser, project) as page:
            go_to(page, "open")
            expect(page.locator(".notes li").first).to_have_text("texts.csv has changed: 1 row came")
            go_to(page, "label")
            expect(page.locator("#given")).to_have_text("a long song")
            page.keyboard.press("1")
            expect(page.get_by_text("Every text has been decided.")).to_be_visible()
        assert project.store.counts() == {"praise": 3}


def test_a_new_name_of_a_class_is_one_class_and_can_be_undone(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(9))
    project.read(text="text", without_labels=True, task="several")
    label(project, [1, 2], "price")
    add_classes(project.store, ["delivery"])
    with labelling(browser, project) as page:
        go_to(page, "mend")
        name = page.get_by_label("New name of price")
        name.fill("cost|value")
        name.press("Enter")
        expect(page.locator("#alert")).to_contain_text("a class cannot hold |, which stands between classes")
        page.get_by_label("New name of delivery").fill("shipping")
        page.keyboard.press("Enter")
        expect(page.get_by_label("New name of shipping")).to_be_visible()
        go_to(page, "label")
        expect(page.locator("#typed")).to_be_focused()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#alert")).to_have_text("The class has its old name again.")
        assert (project.store.classes, project.store.counts()) == (["price", "delivery"], {"price": 2})
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#given")).to_have_text(some_texts(1)[0])
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#alert")).to_have_text("There is nothing of yours to undo.")
