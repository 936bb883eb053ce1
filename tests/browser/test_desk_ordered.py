"""The desk with ordered classes."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chromium import CHROMIUM
from tests.browser.test_desk import go_to, labelling
from tests.desk.samples import project_of, some_texts

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def test_a_new_class_is_put_in_its_place(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(12))
    project.read(text="text", task="ordered")
    with labelling(browser, project) as page:
        given, keys, offered = page.locator("#given"), page.keyboard, page.locator(".classes button.new")

        def typed(name: str, *places: str) -> str:
            expect(page.locator("#typed")).to_be_focused()
            keys.type(name)
            expect(offered).to_have_text([f"New class: {name}{place}" for place in places])
            return str(given.text_content())

        text = typed("bad", "")
        keys.press("Enter")
        expect(given).not_to_have_text(text)
        text = typed("excellent", ", below bad", ", above bad")
        keys.press("Enter")
        said = "Choose the place of excellent, or press Enter again to put it above bad."
        expect(page.locator("#alert")).to_have_text(said)
        keys.press("Enter")
        expect(given).not_to_have_text(text)
        text = typed("so so", ", below bad", ", below excellent", ", above excellent")
        offered.nth(1).click()
        expect(given).not_to_have_text(text)
        assert project.store.classes == ["bad", "so so", "excellent"]
        assert project.store.counts() == {"bad": 1, "so so": 1, "excellent": 1}
        go_to(page, "mend")
        earlier = page.get_by_role("button", name=re.compile("comes earlier"))
        expect(earlier).to_have_count(2)  # the first stays
        earlier.last.click()
        expect(page.locator(".naming span").nth(1)).to_have_text("excellent: 1 text")
        assert project.store.classes == ["bad", "excellent", "so so"]
