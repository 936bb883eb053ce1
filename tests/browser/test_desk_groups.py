"""Groups of texts with more errors, at the step See why of the desk."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chromium import CHROMIUM, check_it_can_be_read
from tests.browser.test_desk import go_to, labelling
from tests.desk.test_groups import refunds

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def test_a_group_with_more_errors_leads_to_them(browser: Browser, tmp_path: Path) -> None:
    project = refunds(tmp_path)
    project.store.write_round(1, "done", {"labels": 120})
    with labelling(browser, project) as page:
        go_to(page, "why")
        group = page.get_by_role("link", name="The wrong answers of keyword: refund")
        row = page.locator("tr", has=group)
        expect(row.locator("td")).to_have_text(["30", "100.0%", "0.0%"])
        check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))
        group.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="30 texts")).to_be_visible()
        expect(page.locator("#search")).to_have_value('"refund"')
        expect(page.locator("#state")).to_have_value("wrong")
