"""What stays while the desk draws a step anew, and what it says."""

from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from glassformer.desk.project import Project
from tests.browser.chromium import CHROMIUM
from tests.browser.test_desk import go_to, labelling
from tests.desk.samples import label, project_of, some_texts

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = project_of(tmp_path, some_texts(120))
    project.store.write_round(1, "done", {"labels": 20, "settings": {"task": "classes"}})
    return project


def draw_anew(page: Page, project: Project, name: str) -> None:
    """The state is asked for again, as while a round runs. Another name of the table shows when it has been drawn."""
    project.store.note(table=name)
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.locator("h1")).to_have_text(name)


def test_what_has_the_focus_or_is_selected_stays(browser: Browser, project: Project) -> None:
    with labelling(browser, project) as page:
        for step, link in (("train", "report"), ("use", "Try the model, and answer a table"), ("mend", "Split praise")):
            label(project, [1], "praise")
            go_to(page, step)
            focused, command = page.get_by_role("link", name=link), page.locator("main code").first
            focused.focus()
            command.evaluate("code => getSelection().selectAllChildren(code)")
            draw_anew(page, project, f"{step}.csv")
            expect(focused).to_be_focused()
            assert page.evaluate("getSelection().toString()") == command.text_content()


def test_the_command_of_the_next_round_waits_for_its_labels(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40))
    with labelling(browser, project) as page:
        go_to(page, "train")
        said = page.get_by_text("To train the next round by hand, on the labels of the last one:")
        expect(page.get_by_role("button", name="Train now")).to_be_visible()
        expect(said).to_be_hidden()
        project.store.write_round(1, "failed", {"labels": 20})
        draw_anew(page, project, "more.csv")
        expect(said).to_be_visible()


@pytest.mark.parametrize(
    ("right", "said"),
    [(0, "A person alone is cheaper than any threshold."), (9, "There are too few texts to tell which threshold")],
)
def test_a_person_who_is_cheaper_than_any_threshold_is_told_so(
    browser: Browser, project: Project, right: int, said: str
) -> None:
    sure = [number % 10 / 10 for number in range(1, 101)]
    suggested = {"id": list(range(1, 101)), "label": "praise", "probability": sure, "place": 0}
    project.store.suggest(pl.DataFrame(suggested), number=1)
    surest = list(range(9, 101, 10))[:right]
    label(project, [number for number in range(1, 101) if number not in surest], "blame")
    if surest:
        label(project, surest, "praise")
    with labelling(browser, project) as page:
        go_to(page, "use")
        expect(page.get_by_text(said)).to_be_visible()


def test_a_class_may_have_a_bar_in_its_name(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40), given=["read|write", "run", *[""] * 38])
    with labelling(browser, project) as page:
        page.goto(page.url.split("#")[0] + "#texts")
        lines = page.locator(".near-texts .soft")
        expect(lines.first).to_contain_text("1 · read|write label")
        lines.first.get_by_role("link", name="label", exact=True).click()
        expect(page.locator(".work .soft").first).to_have_text("Text 1 · now: read|write")


def test_several_classes_of_a_text_are_told_apart(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40))
    project.read(without_labels=True, task="several")
    label(project, [1], "mood|price")
    label(project, [2], "")
    with labelling(browser, project) as page:
        page.goto(page.url.split("#")[0] + "#texts")
        lines = page.locator(".near-texts .soft")
        expect(lines.nth(0)).to_contain_text("1 · mood, price label")
        expect(lines.nth(1)).to_contain_text("2 · none label")
