"""Rules at the step Train of the desk."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.chromium import CHROMIUM, Look, check_it_can_be_read
from tests.browser.test_desk import go_to, labelling
from tests.desk.samples import project_of, some_texts, trained_already
from tests.trained import Trained

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
LOOKS: tuple[Look, ...] = (("light", 1400), ("dark", 320))


def test_rules_are_written_checked_and_learned(
    browser: Browser, tmp_path: Path, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_already(monkeypatch, reviews)
    project = project_of(tmp_path, some_texts(40), given=["praise", "blame"] * 20)
    with labelling(browser, project) as page:
        go_to(page, "train")
        keys, field, alert = page.keyboard, page.get_by_label("A rule on each line"), page.locator("#alert")
        page.locator("summary").filter(has_text="Rules").focus()
        keys.press("Enter")
        keys.press("Tab")
        expect(field).to_be_focused()
        keys.type('"good" -> prise')
        keys.press("Tab")
        keys.press("Enter")
        expect(alert).to_contain_text("Rules, line 1: no label 'prise'. Did you mean 'praise'?")
        expect(field).to_be_focused()
        check_it_can_be_read(page, looks=LOOKS)
        field.fill('\n"good" -> praise')
        keys.press("Tab")
        keys.press("Enter")
        expect(page.get_by_text("Kept. The next round reads them.")).to_be_visible()
        expect(alert).to_be_hidden()
        expect(page.locator("summary").filter(has_text="1 rule")).to_be_visible()
        expect(field).to_have_value('"good" -> praise')
        page.reload()
        page.locator("summary").filter(has_text="1 rule").click()
        field.fill('"good" -> praise\n"bad" ->')
        page.get_by_role("button", name="Train now").click()
        expect(alert).to_contain_text("Rules, line 2")
        assert not project.store.rounds(), "what is wrong in the field is said before the round begins"
        field.fill('"good" -> praise\n"bad" -> blame')
        page.get_by_role("button", name="Train now").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("main code")).to_contain_text("rules.txt")
        project.store.note(rules='"good" -> fine\n"bad" -> blame')
        page.reload()
        page.locator("summary").filter(has_text="2 rules, 1 of them not read").click()
        expect(page.get_by_text("Not read by the next round: Rules, line 1: no label 'fine'.")).to_be_visible()
        check_it_can_be_read(page, looks=LOOKS)
        go_to(page, "mend")
        expect(page.get_by_text("1 rule is not read: the step Train says why")).to_be_visible()
