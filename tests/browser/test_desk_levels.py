"""The desk with classes that have levels."""

import re
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, expect

from glassformer.desk.project import Project
from tests.browser.chromium import CHROMIUM, Look, check_it_can_be_read
from tests.browser.test_desk import go_to, labelling, opened
from tests.desk.samples import project_of, some_texts
from tests.trained import write_csv

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

PATHS = ["Food > Fruit > Apple", "Food > Fruit > Pear", "Food > Other", "Tools > Hand > Saw", "Tools > Other"]
LOOKS: tuple[Look, ...] = (("light", 1400), ("dark", 320))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return project_of(tmp_path, some_texts(60), given=[*PATHS * 4, *[""] * 40])


def test_a_path_is_typed_by_the_end_of_its_levels(browser: Browser, project: Project) -> None:
    with labelling(browser, project) as page:
        given, keys, offered = page.locator("#given"), page.keyboard, page.locator(".classes button")
        expect(page.locator("#typed")).to_be_focused()

        def type_and_enter(typed: str, expected: str | None) -> None:
            text, before = str(given.text_content()), project.store.counts()
            keys.type(typed)
            keys.press("Enter")
            if expected is not None:
                expect(given).not_to_have_text(text)
                assert project.store.counts() - before == {expected: 1}

        type_and_enter("saw", "Tools > Hand > Saw")
        type_and_enter("fruit > p", "Food > Fruit > Pear")
        type_and_enter("other", None)  # of two paths
        expect(page.locator("#alert")).to_have_text("2 classes fit “other”: type more of the name, or choose one.")
        expect(offered).to_have_text(
            [re.compile(name) for name in ("Food > Other", "Tools > Other", "New class: other")]
        )
        keys.press("Tab")
        keys.press("Tab")
        keys.press("Enter")
        expect(offered.last).to_have_text(re.compile("5 Tools > Other 5"))
        type_and_enter("aple", None)
        expect(page.locator("#alert")).to_contain_text("Did you mean Food > Fruit > Apple?")
        keys.press("Escape")
        type_and_enter("Food >  Bread", "Food > Bread")
        keys.press("2")
        expect(offered.nth(1)).to_have_text(re.compile("2 Food > Fruit > Pear 6"))
        check_it_can_be_read(page, looks=LOOKS)


def test_errors_are_compared_at_each_level(browser: Browser, project: Project) -> None:
    answers = [("Food > Fruit > Pear", 1), ("Food > Fruit > Pear", 2), ("Tools > Other", 3), ("Tools > Hand > Saw", 4)]
    answered = pl.DataFrame({"id": [id_ for _, id_ in answers], "answered": [name for name, _ in answers],
                             "probability": 0.75})  # fmt: skip
    project.store.keep_unseen(answered, number=1)
    project.store.write_round(1, "done", {"labels": 20})
    with labelling(browser, project) as page:
        keys, rows = page.keyboard, page.locator("tbody tr")
        expect(page.locator("#typed")).to_be_focused()
        page.locator("#step-why").focus()
        keys.press("Enter")
        said = "Right at level 1 75%, level 2 75%, level 3 67%; hierarchical F1 73%."
        expect(page.locator(".verdict")).to_contain_text(said)
        expect(rows).to_have_text(["Food21", "Tools01"])
        expect(page.locator(".near-texts li").first).to_contain_text("answered Tools > Other")
        check_it_can_be_read(page, looks=LOOKS)
        page.get_by_label("Compare at").select_option("level 2")
        at_second = ["Food > Fruit2000", "Food > Other0001", "Tools > Hand0010", "Tools > Other0000"]
        expect(rows).to_have_text(at_second)
        page.get_by_label("Compare at").select_option("all levels")
        expect(rows).to_have_count(5)
        page.get_by_label("Compare at").select_option("level 1")
        page.get_by_role("link", name="2 texts labelled Food and answered Food").focus()
        keys.press("Enter")
        expect(page.get_by_role("heading", name="2 texts", exact=True)).to_be_visible()
        expect(page.locator("#of-class option:checked")).to_have_text("Food > …")
        check_it_can_be_read(page, looks=LOOKS)
        page.get_by_label("Mark all 2 texts").check()
        page.get_by_label("Label the marked ones as").fill("Food > Other")
        keys.press("Enter")
        expect(page.locator(".near-texts li").first).to_contain_text("Food > Other")
        assert project.store.counts()["Food > Other"] == 6, "all of them, whatever they were"


def test_levels_in_columns_are_chosen(browser: Browser, tmp_path: Path) -> None:
    rows = [(f"text number {number}", "Food", ("Fruit", "Bread")[number % 2]) for number in range(20)]
    project = Project.open(tmp_path / "desk")
    project.take(write_csv(tmp_path / "t.csv", rows, ("text", "aisle", "kind")))
    with opened(browser, project) as page:
        expect(page.get_by_label("Between two levels")).to_be_hidden()
        page.get_by_label("Labels").select_option("aisle")
        page.get_by_label("Each text gets").select_option("levels")
        expect(page.get_by_label("Between two levels")).to_have_value(" > ")
        page.get_by_label("Between two levels").fill("::")
        page.get_by_text("All columns").click()
        page.get_by_label("What kind is used for").select_option("lower")
        check_it_can_be_read(page, looks=LOOKS)
        page.get_by_role("link", name="Begin to label").click()
        expect(page.locator(".classes button").first).to_have_text(re.compile("Food::Bread 10"))
        go_to(page, "open")
        expect(page.get_by_label("Between two levels")).to_have_value("::")
        expect(page.locator("code").filter(has_text="doctor")).to_contain_text(
            "--label aisle --label kind --levels '::'"
        )


def test_a_suggestion_says_how_far_down_the_model_is_sure(browser: Browser, project: Project) -> None:
    suggested = {"id": list(range(21, 61)), "label": PATHS[0], "probability": 0.4, "place": list(range(40))}
    project.store.suggest(pl.DataFrame(suggested), number=1)
    with labelling(browser, project) as page:
        answer = {"answers": [{"path": "Food > Fruit", "path_probability": 0.8}]}
        page.route("**/predict", lambda route: route.fulfill(json=answer))
        expect(page.locator("#typed")).to_be_focused()
        while not page.locator(".suggestion").is_visible():
            text = str(page.locator("#given").text_content())
            page.keyboard.press("ArrowRight")
            expect(page.locator("#given")).not_to_have_text(text)
        expect(page.locator(".suggestion")).to_have_text("Suggested: Food > Fruit > Apple (40.0%)")
        expect(page.get_by_text("Sure of: Food > Fruit (80.0%)")).to_be_visible()
        check_it_can_be_read(page, looks=LOOKS)


def test_a_level_gets_another_name(browser: Browser, project: Project) -> None:
    with labelling(browser, project) as page:
        expect(page.locator("#typed")).to_be_focused()
        page.locator("#step-mend").focus()
        page.keyboard.press("Enter")
        classes = page.locator(".naming > span")
        expect(classes.nth(0)).to_have_text("Food > …: 12 texts")
        expect(classes.nth(1)).to_have_text("Food > Fruit > …: 8 texts")
        check_it_can_be_read(page, looks=LOOKS)
        name = page.get_by_label("New name of Food > Fruit > …")
        expect(name).to_have_value("Food > Fruit")
        name.fill("Food > Sweet")
        page.keyboard.press("Enter")
        expect(classes.nth(1)).to_have_text("Food > Sweet > …: 8 texts")
        expect(classes.nth(2)).to_have_text("Food > Sweet > Apple: 4 texts")
        expect(page.locator(".naming button").nth(1)).to_be_focused()
