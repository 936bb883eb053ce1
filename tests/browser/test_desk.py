"""The whole round at the desk: open a table, label with the keyboard alone, train, mend, use."""

import re
import resource
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urljoin

import polars as pl
import pytest
from playwright.sync_api import APIResponse, Browser, Locator, Page, Route, expect

from glassformer.cli.desk import _command
from glassformer.desk import learning_chart
from glassformer.desk.app import Desk, create_desk
from glassformer.desk.classes import add_classes
from glassformer.desk.project import Project
from glassformer.desk.rounds import FEWEST_LABELS
from glassformer.labels.learning_curve import Gain, LearningCurve
from tests.browser.chromium import CHROMIUM, check_it_can_be_read, check_with_axe, let_go
from tests.browser.serving import answering, complaints
from tests.cli.terminal import commands
from tests.desk.samples import label, learn, project_of, some_texts, trained_already
from tests.serving.samples import of_numbers
from tests.trained import NEGATIVE, POSITIVE, Trained, write_csv
from tests.workbooks import xlsx

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = create_desk(project_of(tmp_path, some_texts(400)), learn)
    yield opened
    opened.rounds.stop()


@pytest.fixture
def page(desk: Desk, browser: Browser) -> Iterator[Page]:
    with answering(desk.app) as url:
        page = browser.new_page()
        said = complaints(page)
        page.goto(f"{url}{desk.app.query}")
        page.get_by_role("link", name="Begin to label").click()
        expect(page.locator("#typed")).to_be_focused()
        yield page
        assert said == []
        page.close()


# The address changes at once, the step a moment later: a key pressed in between is for neither.
PRESS_WHILE_LEAVING = """
location.hash = "train";
document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true }));
"""


def test_keys_count_wherever_the_focus_is(page: Page, desk: Desk) -> None:
    given, keys, store = page.locator("#given"), page.keyboard, desk.rounds.project.store
    add_classes(store, ["praise", "blame"])
    page.reload()
    expect(page.locator("#typed")).to_be_focused()
    for place in ("#given", "h1", "#step-label", "#blind", "#keys"):
        text = str(given.text_content())
        page.locator(place).click()
        keys.press("1")
        expect(given).not_to_have_text(text)
    assert store.counts() == {"praise": 5}
    text = str(given.text_content())
    page.locator("#typed").fill("blame")
    page.locator("#step-label").focus()  # the link of this step leads nowhere else
    keys.press("Enter")
    expect(given).not_to_have_text(text)
    assert store.counts() == {"praise": 5, "blame": 1}
    keys.press("ArrowLeft")
    expect(given).to_have_text(text)
    page.locator("h1").click()
    keys.type("bla")
    expect(page.locator("#typed")).to_have_value("bla")
    keys.press("Escape")
    page.get_by_role("button", name="Note").click()
    keys.type("1")
    expect(page.locator("#note")).to_have_value("1")
    page.get_by_role("button", name="Undo").focus()
    keys.press("Enter")  # presses the button
    expect(page.locator(".classes button").first).to_have_text(re.compile("praise 4"))
    page.locator("#person").click()
    keys.type("1")
    page.evaluate(PRESS_WHILE_LEAVING)
    expect(page.locator("#step-train")).to_have_attribute("aria-current", "")
    keys.press("1")  # on another step
    assert store.counts() == {"praise": 4}


def test_the_last_text_can_be_undone(browser: Browser, tmp_path: Path) -> None:
    with labelling(browser, project_of(tmp_path, ["a film"])) as page:
        expect(page.locator("#typed")).to_be_focused()
        page.keyboard.type("praise")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Every text has been decided.")).to_be_visible()
        page.keyboard.press("1")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#given")).to_have_text("a film")
        expect(page.get_by_text("0 labels, 1 text left")).to_be_visible()


@pytest.mark.parametrize(
    ("probability", "said"), [(0.75, "One of the texts that the model is least sure of"), (0.99, "")]
)
def test_a_text_is_called_unsure_only_if_its_suggestion_is(
    browser: Browser, tmp_path: Path, probability: float, said: str
) -> None:
    project = project_of(tmp_path, some_texts(20))
    suggested = {"id": list(range(1, 21)), "label": "praise", "probability": probability, "place": list(range(20))}
    project.store.suggest(pl.DataFrame(suggested), number=1)
    with labelling(browser, project) as page:
        expect(page.locator(".work .soft").first).to_contain_text("Drawn at random")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".suggestion")).to_be_visible()
        why = str(page.locator(".work .soft").first.text_content())
        assert re.fullmatch(r"Text \d+( · (.*))?", why)
        assert why.partition(" · ")[2] == said


def test_a_class_that_may_be_misspelled_is_asked_for(page: Page, desk: Desk) -> None:
    given, keys, store, said = page.locator("#given"), page.keyboard, desk.rounds.project.store, page.locator("#alert")
    add_classes(store, ["delivery", "level 1"])
    page.reload()
    expect(page.locator("#typed")).to_be_focused()
    for name, kept in (("delivrey", {}), ("level 2", {"level 2": 1})):
        text = str(given.text_content())
        keys.type(name)
        keys.press("Enter")
        if kept:
            expect(given).not_to_have_text(text)
        else:
            expect(said).to_have_text("Did you mean delivery? Press Enter again to make the new class delivrey.")
            page.get_by_role("button", name="Did you mean delivery?").click()
            expect(said).to_be_hidden()
            expect(given).not_to_have_text(text)
        assert store.counts() == {"delivery": 1} | kept
    text = str(given.text_content())
    keys.type("deliverry")
    keys.press("Enter")
    keys.press("Enter")
    expect(given).not_to_have_text(text)
    assert store.counts() == {"delivery": 1, "level 2": 1, "deliverry": 1}
    keys.press("ArrowLeft")
    expect(given).to_have_text(text)
    expect(page.locator(".classes button")).to_have_text(["1 delivery 1", "2 level 1 0", "3 level 2 1"])
    keys.type("deliverry")
    keys.down("Enter")
    expect(said).to_be_visible()  # it is asked again
    keys.down("Enter")  # held down, or the end of a composition: neither answers
    page.locator("#typed").dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    keys.up("Enter")
    keys.press("Escape")
    keys.press("1")
    expect(page.locator(".classes button").first).to_have_text("1 delivery 2")
    assert store.counts() == {"delivery": 2, "level 2": 1}


def test_shift_and_an_arrow_select_words(page: Page, desk: Desk) -> None:
    given, keys = page.locator("#given"), page.keyboard
    page.locator("#typed").press("Shift+ArrowLeft")
    given.press("Shift+ArrowRight")
    text = str(given.text_content())
    keys.press("ArrowRight")
    expect(given).not_to_have_text(text)
    assert desk.rounds.project.store.rows("SELECT undone FROM decisions")[0]["undone"] is None
    assert len(desk.rounds.project.store.rows("SELECT id FROM decisions")) == 1, "one arrow alone skips"


def test_the_commands_that_the_desk_shows_are_understood(
    page: Page, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = desk.rounds.project
    project.store.write_round(1, "done", {"labels": 20, "settings": {"task": "classes"}})
    project.model(1).mkdir()
    (project.folder / "labels.csv").touch()
    project.store.note(label="a label", encoding="cp1252", columns=["a,b"], other_texts=["more"])
    (tmp_path / "labels.csv").touch()  # that is downloaded
    monkeypatch.chdir(tmp_path)
    desk.rounds.command = partial(_command, [])
    parsers, seen = dict(commands()), list[str]()
    for step in ("open", "label", "texts", "train", "mend", "use"):
        page.goto(page.url.split("#")[0] + f"#{step}")
        page.reload()
        expect(page.locator("main code").first).to_contain_text("glassformer")
        for command in page.locator("main code").all_text_contents():
            program, name, *arguments = shlex.split(command)
            assert program == "glassformer"
            with parsers[name].make_context(name, arguments):
                seen.append(name)
    assert seen == ["doctor", "labels", "desk", "train", "labels", "predict", "explain", "serve", "export"]


def is_of(text: str | None) -> str:
    return POSITIVE if str(text).startswith("good") else NEGATIVE


def test_without_a_model_there_is_nothing_to_try(page: Page) -> None:
    page.goto(urljoin(page.url, "/"))
    expect(page.locator("#names")).to_have_text("There is no model yet.")
    expect(page.locator("#text")).to_be_hidden()


def answers(browser: Browser, url: str) -> None:
    """The page of the model, which the step Use names, answers a text."""
    trying = browser.new_page()
    trying.goto(urljoin(url, "/"))
    trying.locator("#text").fill("good film")
    expect(trying.locator(".label")).to_be_visible()
    expect(trying.locator(".words [role=button]")).to_have_text(["good", "film"])
    trying.close()


def test_labelling_training_and_mending_with_the_keyboard(
    page: Page, desk: Desk, browser: Browser, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_already(monkeypatch, reviews)
    given, keys = page.locator("#given"), page.keyboard
    seen = []
    for number in range(FEWEST_LABELS):
        text = given.text_content()
        seen.append(text)
        known = [POSITIVE, NEGATIVE] if is_of(seen[0]) == POSITIVE else [NEGATIVE, POSITIVE]
        classes = page.locator(".classes button")
        if is_of(text) in [each.split("\n")[-1] for each in classes.all_inner_texts()] or number > 8:
            keys.press(str(known.index(is_of(text)) + 1))
        else:
            keys.type(is_of(text))
            keys.press("Enter")
        expect(given).not_to_have_text(str(text))
    assert desk.rounds.project.store.counts() == {name: [is_of(text) for text in seen].count(name) for name in known}
    page.locator("#step-train").focus()
    keys.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("link", name="report")).to_be_visible()
    answers(browser, page.url)
    page.locator("#step-label").focus()
    keys.press("Enter")
    expect(page.locator("#typed")).to_be_focused()
    while not page.locator(".suggestion").is_visible():
        before = given.text_content()
        keys.press("ArrowRight")
        expect(given).not_to_have_text(str(before))
    expect(page.locator(".given .for, .given .against").first).to_be_visible()
    expect(page.get_by_text("speaks for it speaks against it")).to_be_visible()
    text = str(given.text_content())
    keys.press("Enter")  # as suggested
    expect(given).not_to_have_text(text)
    keys.press("ArrowLeft")
    expect(given).to_have_text(text)
    keys.press("?")
    expect(given).not_to_have_text(text)
    keys.press("+")
    keys.type("rude")
    keys.press("Enter")
    text = str(given.text_content())
    keys.press("-")
    expect(given).not_to_have_text(text)
    (last,) = desk.rounds.project.store.rows("SELECT kind, note FROM decisions ORDER BY id DESC LIMIT 1")
    assert tuple(last) == ("drop", "rude")


def test_what_a_model_learned_is_shown_beside_a_text(page: Page, desk: Desk) -> None:
    label(desk.rounds.project, range(1, 100, 2), "praise")  # each is good
    page.get_by_role("link", name="Label", exact=False).first.click()
    given = page.locator("#given")
    while not str(given.text_content()).startswith("good"):
        text = str(given.text_content())
        page.keyboard.press("ArrowRight")
        expect(given).not_to_have_text(text)
    page.get_by_role("button", name="Texts like this one").click()
    learned = page.get_by_role("heading", name="the model learns from them")
    expect(learned).to_be_visible()
    expect(page.locator("h2 + ol.near-texts li").first).to_contain_text("praise")
    page.get_by_label("Search").fill("bad")
    page.keyboard.press("Enter")
    expect(learned).to_be_hidden()


def test_many_are_labelled_at_once_and_doubts_are_mended(page: Page, desk: Desk) -> None:
    store = desk.rounds.project.store
    page.goto(page.url.split("#")[0] + "#texts")
    page.get_by_label("Search").fill("bad")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="200 texts")).to_be_visible()
    page.locator("#all-texts").check()
    page.get_by_label("Label the marked ones as").fill("blame")
    page.keyboard.press("Enter")
    expect(page.locator(".near-texts li .soft").first).to_contain_text("blame")
    assert store.counts() == {"blame": 200}, "those on other pages too"
    expect(page.get_by_text("200 texts labelled as blame, a new class. ← at the step Label undoes it.")).to_be_visible()
    page.locator(".mark").first.check()
    page.get_by_label("Label the marked ones as").fill("BLAME")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 text labelled as blame. ←")).to_be_visible()
    assert store.counts() == {"blame": 200}
    label(desk.rounds.project, [1], "blame")
    store.note(doubts=[{"id": 1, "label": "blame", "suggested": "praise", "why": "doubtful label"}])
    page.goto(page.url.split("#")[0] + "#mend")
    page.get_by_role("button", name="change to praise").click()
    expect(page.get_by_text("good film number 0")).to_be_hidden()
    assert store.counts() == {"blame": 200, "praise": 1}
    page.get_by_label("New name of praise").fill("blame")
    page.keyboard.press("Enter")
    expect(page.get_by_label("New name of praise")).to_be_hidden()
    expect(page.get_by_role("button", name="Rename or join")).to_be_focused()
    assert store.counts() == {"blame": 201}
    page.get_by_role("link", name="Split blame").click()
    expect(page.get_by_role("heading", name="201 texts")).to_be_visible()
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type('"number 39"')
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="6 texts")).to_be_visible()
    page.get_by_label("Mark all 6 texts").check()
    page.locator(".mark").first.uncheck()
    page.get_by_label("Label the marked ones as").fill("late")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="1 text", exact=True)).to_be_visible()
    assert store.counts() == {"blame": 196, "late": 5}
    assert store.value("SELECT DISTINCT way FROM decisions WHERE label = 'late'") == "renamed"


def test_a_class_with_another_name_is_suggested_and_doubted_by_it(page: Page, desk: Desk) -> None:
    project, keys = desk.rounds.project, page.keyboard
    label(project, [1], "payment")
    project.store.note(doubts=[{"id": 1, "label": "payment", "suggested": "return", "why": "doubtful label"}])
    suggested = {"id": list(range(2, 401)), "label": "payment", "probability": 0.75, "place": list(range(399))}
    project.store.suggest(pl.DataFrame(suggested), number=1)
    page.reload()
    expect(page.locator("#typed")).to_be_focused()
    given, suggestion = page.locator("#given"), page.locator(".suggestion")
    while not suggestion.is_visible():
        text = str(given.text_content())
        keys.press("ArrowRight")
        expect(given).not_to_have_text(text)
    text = str(given.text_content())
    go_to(page, "mend")
    page.get_by_label("New name of payment").fill("money")
    keys.press("Enter")
    expect(page.get_by_role("button", name="keep money")).to_be_visible()
    go_to(page, "label")
    expect(suggestion).to_have_text("Suggested: money (75.0%)")
    expect(given).to_have_text(text)
    keys.press("Enter")
    expect(given).not_to_have_text(text)
    assert project.store.counts() == {"money": 2}
    assert project.store.classes == ["money"]


def test_a_contradiction_offers_the_labels_of_both_texts(page: Page, desk: Desk) -> None:
    project = desk.rounds.project
    label(project, [1], "delay")
    label(project, [3], "praise")
    label(project, [5], "late")
    doubt = {"suggested": "delay", "why": "nearly the same text, other label"}
    pair = [{"id": 1, "label": "delay", "other": 3, "other_label": "praise"},
            {"id": 3, "label": "praise", "other": 1, "other_label": "delay"}]  # fmt: skip
    alone = {"id": 5, "label": "late", "suggested": "praise", "why": "doubtful label"}
    project.store.note(doubts=[*(doubt | each for each in pair), alone])
    page.goto(page.url.split("#")[0] + "#mend")
    items = page.locator("section > ol").last.locator("li")
    expect(items).to_have_count(3)
    expect(items.first).to_contain_text("Text 3, labelled praise: good film number 2")
    offered = ["keep delay", "change to praise", "leave out"]
    assert items.first.get_by_role("button").all_inner_texts() == offered
    page.get_by_role("button", name="change to praise").first.click()
    expect(items).to_have_count(1)
    expect(page.get_by_role("button", name="keep late")).to_be_focused()
    assert project.store.counts() == {"praise": 2, "late": 1}


def test_what_holds_a_class_back_is_told_where_models_are_trained_and_classes_joined(page: Page, desk: Desk) -> None:
    for number, name in enumerate(("late", "late", "Late"), start=1):
        label(desk.rounds.project, [number], name)
    page.reload()
    for step in ("train", "mend"):
        go_to(page, step)
        expect(page.locator(".notes li")).to_contain_text(["class 'Late' has one row", "the step Mend joins them"])
    page.get_by_label("New name of Late", exact=True).fill("late")
    page.keyboard.press("Enter")
    expect(page.locator(".notes li")).to_have_count(0)


def test_the_curve_of_the_rounds_is_drawn(page: Page, desk: Desk) -> None:
    project, gains = desk.rounds.project, (Gain(more=100, value=0.03, low=0, high=0.08),)
    curve = learning_chart.kept(LearningCurve(rows=(6, 12, 24, 48), errors=(0.4, 0.35, 0.3, 0.3), gains=gains), 100)
    for number, labels in enumerate((16, 40, 60), start=1):
        record = {"labels": labels, "aside": dict.fromkeys("1234", "praise"), "curve": curve}
        project.store.write_round(number, "done", record | {"more": "You can stop: 100 more labels would add little"})
    project.store.suggest(pl.DataFrame({"id": [1, 2, 3], "label": "praise", "probability": 0.75, "place": 0}), number=3)
    label(project, [1, 2, 3], "praise")
    label(project, range(101, 130), "blame", way="search")
    go_to(page, "train")
    drawn = page.get_by_role("img", name="accuracy by labels")
    expect(drawn).to_be_visible()
    expect(page.locator(".verdict")).to_contain_text("You can stop: 100 more labels would add little.")
    expect(drawn.locator("polyline")).to_have_count(2)
    expect(drawn.locator("circle.first")).to_have_count(3 + 1)  # and in the legend
    expect(drawn.locator("desc")).to_contain_text("foretold with 100 more labels 0.73 (likely 0.7 to 0.78)")
    check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))


def test_what_the_slider_chose_is_kept_and_in_the_command(browser: Browser, tmp_path: Path, reviews: Trained) -> None:
    project = project_of(tmp_path, some_texts(200))
    shutil.copytree(reviews.folder, project.model(1))
    project.store.write_round(1, "done", {"labels": 20})
    sure = [number % 10 / 10 for number in range(1, 101)]
    suggested = {"id": list(range(1, 101)), "label": "praise", "probability": sure, "place": 0}
    project.store.suggest(pl.DataFrame(suggested), number=1)
    label(project, [number for number in range(1, 101) if number % 10 > 3], "praise")
    label(project, [number for number in range(1, 101) if number % 10 <= 3], "blame")
    with labelling(browser, project) as page:
        go_to(page, "use")
        slider, command = page.get_by_label("An automatic answer has at least"), page.locator("main code").first
        look = page.get_by_label("A person's look costs")
        expect(page.get_by_text("The cheapest threshold is 35.0% (about 40, likely 40 to 76)")).to_be_visible()
        expect(command).to_have_text(re.compile(r"--out answers.csv$"))
        slider.focus()
        page.keyboard.press("ArrowRight")
        expect(command).to_have_text(re.compile(r"--out answers.csv --automatic (1|0\.\d+)$"))
        look.fill("8")
        page.keyboard.press("Enter")
        chosen = slider.get_attribute("aria-valuetext")
        check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))
        page.reload()
        expect(look).to_have_value("8")
        expect(slider).to_have_attribute("aria-valuetext", str(chosen))
        look.fill("0.001")
        expect(page.get_by_text("There are too few texts to tell which threshold is cheapest.")).to_be_visible()


def test_the_slider_marks_numbers_by_the_known_words(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40))
    project.read(text="text", without_labels=True, task="number")
    of_numbers(project.model(1))
    project.store.write_round(1, "done", {"labels": 20})
    known = [number % 10 / 10 for number in range(1, 41)]
    project.store.suggest(
        pl.DataFrame({"id": list(range(1, 41)), "label": "2", "probability": known, "place": 0}), number=1
    )
    label(project, list(range(1, 41)), "3")
    with labelling(browser, project) as page:
        go_to(page, "use")
        slider = page.get_by_label("An automatic answer has at least this share of known words")
        expect(
            page.get_by_text("Move the slider: the answers of the desk then mark what a person should")
        ).to_be_visible()
        slider.focus()
        page.keyboard.press("End")
        expect(
            page.get_by_text("say needs_review below 85.0%. In the answers of the command above, that is an")
        ).to_be_visible()
        expect(page.get_by_text("unseen_share above 15.0%")).to_be_visible()
        check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))


def test_a_table_without_open_texts_is_told_so(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40), given=["praise", "blame"] * 20)
    project.store.write_round(1, "done", {"labels": 40, "more": "You can stop: 100 more labels would add little"})
    with labelling(browser, project) as page:
        go_to(page, "train")
        expect(page.locator(".verdict").first).to_have_text(
            "Every text is decided, so none is left to measure the model by. See why counts what models answered that "
            "had not learned the text."
        )


def test_labels_that_were_not_checked_are_not_called_right(page: Page, desk: Desk) -> None:
    store, said = desk.rounds.project.store, page.get_by_label("Mend").locator("h2:has-text('Doubtful') + p")
    none = "The last check doubts none. The next round of training checks again."
    page.goto(page.url.split("#")[0] + "#mend")
    for state, record, shown in (
        ("running", {}, "Not checked yet. Labels are checked after each round of training."),
        ("done", {"unchecked": "all have the same text"}, "Labels could not be checked: all have the same text."),
        ("done", {"more": None}, none),
        ("running", {}, none),
    ):
        store.write_round(len(store.rounds()) + 1, state, {"labels": 20} | record)
        page.evaluate("dispatchEvent(new Event('focus'))")  # the state is asked for again
        expect(said).to_have_text(shown)


def test_a_table_is_dropped(browser: Browser, tmp_path: Path) -> None:
    desk = create_desk(Project.open(tmp_path / "desk"), learn)
    (tmp_path / "mine.csv").write_text("id,words\n" + "".join(f"{n},a film <b>{n}</b>\n" for n in range(30)))
    with answering(desk.app) as url:
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        page.locator("#step-label").click()  # there is nothing to label yet
        page.locator("#file").set_input_files(tmp_path / "mine.csv")
        expect(page.locator("h1")).to_have_text("mine.csv")
        expect(page.locator(".notes")).to_contain_text("30 texts")
        page.get_by_role("link", name="Begin to label").click()
        expect(page.locator("#given")).to_contain_text("<b>")
        page.close()


def test_a_workbook_of_several_sheets_asks_for_one(browser: Browser, tmp_path: Path) -> None:
    desk = create_desk(Project.open(tmp_path / "desk"), learn)
    notes = [["when", "what"], ["May", "a lot"], ["June", "nothing"]]
    answers = [["words"], *([f"a film of {number}"] for number in range(30))]
    (tmp_path / "book.xlsx").write_bytes(xlsx({"Notes": notes, "Answers": answers}))
    with answering(desk.app) as url:
        page = browser.new_page()
        said = complaints(page)
        page.goto(f"{url}{desk.app.query}")
        page.locator("#file").set_input_files(tmp_path / "book.xlsx")
        asked = page.get_by_label("book.xlsx holds several tables. Which one?")
        expect(asked).to_be_focused()
        expect(page.get_by_role("alert")).to_be_hidden()
        check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))
        assert asked.locator("option").all_inner_texts() == ["Notes (3 rows, 2 columns)", "Answers (31 rows, 1 column)"]
        page.keyboard.press("ArrowDown")
        tab_to(page, "Read it")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("book.xlsx#Answers")
        expect(page.locator(".notes")).to_contain_text("30 texts")
        expect(asked).to_be_hidden()
        assert [each for each in said if "422" not in each] == []
        page.close()


def test_a_table_among_many_of_a_database_is_found_and_chosen(browser: Browser, tmp_path: Path) -> None:
    desk, path = create_desk(Project.open(tmp_path / "desk"), learn), tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        for number in range(60):
            connection.execute(f"CREATE TABLE old{number:02} (text)")
        connection.execute("CREATE TABLE Tickets AS SELECT 'a ticket of ' || value AS text FROM json_each('[1, 2, 3]')")
    connection.close()
    with answering(desk.app) as url:
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        page.locator("#file").set_input_files(path)
        asked = page.get_by_label("shop.sqlite holds several tables. Which one?")
        expect(asked.locator("option")).to_have_count(61)
        page.get_by_label("Only names with").fill("TICK")
        expect(asked.locator("option")).to_have_text(["Tickets (3 rows)"])
        check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))
        page.get_by_role("button", name="Read it").click()
        expect(page.locator("h1")).to_have_text("shop-Tickets.parquet")
        page.close()


def test_a_folder_that_is_dropped_can_be_packed_and_dropped(browser: Browser, tmp_path: Path) -> None:
    """A real drop, as the desktop makes it: scripts cannot make one of a folder."""
    for number in range(40):
        text = tmp_path / "mails" / ("praise" if number % 2 else "blame") / f"{number}.txt"
        text.parent.mkdir(parents=True, exist_ok=True)
        text.write_text(f"the film number {number} is {'good' if number % 2 else 'bad'}")
    packed = shutil.make_archive(str(tmp_path / "mails"), "zip", tmp_path, "mails")
    desk = create_desk(Project.open(tmp_path / "desk"), learn)
    with answering(desk.app) as url:
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        for dropped in (tmp_path / "mails", Path(packed)):
            place = page.locator(".drop").bounding_box()
            assert place is not None
            where = {"x": place["x"] + 40, "y": place["y"] + 40}
            what = {"items": [], "files": [str(dropped)], "dragOperationsMask": 1}
            for event in ("dragEnter", "dragOver", "drop"):
                page.context.new_cdp_session(page).send(
                    "Input.dispatchDragEvent", {"type": event, **where, "data": what}
                )
            if dropped.is_dir():
                expect(page.get_by_role("alert")).to_contain_text("Pack it as a .zip and drop that")
        expect(page.get_by_text("40 texts have a label already: 2 classes")).to_be_visible()
        expect(page.get_by_role("alert")).to_be_hidden()
        page.close()
    desk.rounds.stop()


@contextmanager
def opened(browser: Browser, project: Project) -> Iterator[Page]:
    """Open the desk of a project."""
    desk = create_desk(project, learn)
    with answering(desk.app) as url:
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        yield page
        page.close()


def go_to(page: Page, step: str) -> None:
    """Open a step. Until it shows, the links of the one before are still there."""
    page.locator(f"#step-{step}").click()
    expect(page.locator(f"#step-{step}[aria-current]")).to_be_visible()


@contextmanager
def labelling(browser: Browser, project: Project) -> Iterator[Page]:
    """Open the desk where a project is labelled."""
    with opened(browser, project) as page:
        go_to(page, "label")
        yield page


def test_each_figure_of_see_why_leads_to_its_texts(page: Page, desk: Desk) -> None:
    project, keys, items = desk.rounds.project, page.keyboard, page.locator(".near-texts li")
    label(project, [1, 3, 5], "praise")
    label(project, [2, 4], "blame")
    found = [(1, "praise", 0.9), (3, "blame", 0.6), (5, "blame", 0.8), (2, "praise", 0.7), (4, "blame", 0.9)]
    project.store.keep_unseen(pl.DataFrame(found, ["id", "answered", "probability"], orient="row"), number=1)
    project.store.write_round(1, "done", {"labels": 5})
    page.reload()
    expect(page.locator("#typed")).to_be_focused()
    page.locator("#step-why").focus()
    keys.press("Enter")
    expect(page.locator(".verdict")).to_contain_text("5 texts with a label")
    expect(page.locator("tbody tr")).to_have_text(["praise12", "blame11"])
    expect(items.locator("p")).to_have_text([re.compile(f"^{said} ") for said in (
        "5 · praise · answered blame 80.0%", "2 · blame · answered praise 70.0%", "3 · praise · answered blame 60.0%"
    )])  # fmt: skip
    check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))
    page.get_by_role("link", name="2 texts labelled praise and answered blame").focus()
    keys.press("Enter")
    expect(page.get_by_role("heading", name="2 texts")).to_be_visible()
    expect(page.locator("#search")).to_be_focused()
    expect(page.locator("#answered")).to_have_value("blame")
    expect(items.first).to_contain_text("number 2")
    expect(items.last).to_contain_text("number 4")
    go_to(page, "why")
    page.get_by_role("link", name="label", exact=True).first.focus()
    keys.press("Enter")
    expect(page.locator("#given")).to_have_text("good film number 4")
    expect(page.locator(".work .soft").first).to_have_text("Text 5 · now: praise · answered blame 80.0%")
    keys.press("2")
    go_to(page, "why")
    expect(page.locator("tbody tr")).to_have_text(["praise11", "blame12"])
    go_to(page, "label")
    page.get_by_label("Hide suggestions").click()
    go_to(page, "why")
    expect(page.locator(".verdict")).to_have_text(
        "5 answers cannot be seen here, as suggestions or other people's labels are hidden from you."
    )
    expect(page.locator("tbody tr")).to_have_count(0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["", "Lieferung"], "1 other row has this text; it is labelled Lieferung. Your answer replaces that."),
        (
            ["", "Rechnung", "Lieferung", "Lieferung", ""],
            "4 other rows have this text; labelled: Lieferung (2), Rechnung (1). Your answer replaces that.",
        ),
    ],
)
def test_a_label_of_the_same_text_is_told_before_it_is_replaced(
    browser: Browser, tmp_path: Path, given: list[str], said: str
) -> None:
    rest = [f"row {number}" for number in range(20)]
    classes = [("Rechnung", "Lieferung")[number % 2] for number in range(20)]
    project = project_of(tmp_path, [*["late"] * len(given), *rest], given=[*given, *classes])
    with labelling(browser, project) as page:
        expect(page.locator("#given")).to_have_text("late")
        expect(page.locator(".work .soft").first).to_contain_text(said)
        expect(page.locator("#spoken")).to_have_text(f"late {said}")
        page.locator("#person").fill("ann")
        label(project, [1], "Storno", who="ben")  # another person's answer stays beside mine
        label(project, range(2, len(given) + 1), "Storno", who="ben", way="repeat")
        page.goto(page.url.split("#")[0] + "#texts")
        page.get_by_role("link", name="label", exact=True).first.click()
        rows = "1 more row has the same text and gets" if len(given) == 2 else "4 more rows have the same text and get"
        expect(page.locator(".work .soft").first).to_contain_text(f"{rows} the same label.")


def test_a_label_of_another_person_is_not_shown_to_who_labels_apart(page: Page, desk: Desk) -> None:
    project, why, note = desk.rounds.project, page.locator(".work .soft").first, page.locator("#note")
    label(project, [1], "praise", who="ann", note="ironic", way="any")

    def look() -> None:
        page.goto(page.url.split("#")[0] + "#texts")
        page.get_by_label("Which").select_option("labelled")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("heading", name="1 text", exact=True)).to_be_visible()
        page.get_by_role("link", name="label", exact=True).click()
        expect(page.locator("#given")).to_have_text("good film number 0")

    def list_texts(which: str) -> Locator:
        page.goto(page.url.split("#")[0] + "#texts")
        page.get_by_label("Which").select_option(which)
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("heading", name=re.compile("texts?$"))).to_be_visible()
        return page.locator(".near-texts").last

    look()
    expect(why).to_have_text("Text 1 · now: praise")
    expect(note).to_have_value("ironic")
    page.locator("#blind").check()
    expect(list_texts("labelled")).to_be_empty()
    expect(page.get_by_text("You see what another person decided about a text once")).to_be_visible()
    expect(list_texts("all").locator(".soft").first).to_have_text("1 · label")
    page.get_by_role("link", name="label", exact=True).first.click()
    expect(why).to_have_text("Text 1")
    expect(note).to_have_value("")
    page.locator("#blind").uncheck()
    expect(why).to_have_text("Text 1 · now: praise")
    page.locator("#twice").check()
    expect(why).to_have_text("Text 1 · Somebody else has labelled it")
    page.locator("#typed").focus()
    page.keyboard.type("blame")
    page.keyboard.press("Enter")
    expect(page.locator("#given")).not_to_have_text("good film number 0")
    look()
    expect(why).to_have_text("Text 1 · now: blame")


def test_labels_of_the_same_text_are_told_before_many_are_labelled(browser: Browser, tmp_path: Path) -> None:
    texts = ["late"] * 3 + ["torn"] * 2 + [f"row {number}" for number in range(20)]
    given = ["", "Lieferung", "Rechnung", "", "Lieferung", *["Rechnung", "Lieferung"] * 10]
    project = project_of(tmp_path, texts, given=given)
    with labelling(browser, project) as page:
        page.goto(page.url.split("#")[0] + "#texts")
        page.get_by_label("Which").select_option("open")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("heading", name="2 texts")).to_be_visible()
        told, marks = page.locator("form + [role=status]"), page.locator(".mark")
        expect(told).to_be_empty()
        marks.last.check()
        expect(told).to_have_text("1 other row has this text; it is labelled Lieferung. Your answer replaces that.")
        marks.first.check()
        expect(told).to_have_text(
            "3 other rows have one of these texts; labelled: Lieferung (2), Rechnung (1). Your answer replaces that."
        )
        check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))
        page.locator("#all-texts").check()
        expect(told).to_be_empty()  # what the search finds, and no other rows
        page.locator("#all-texts").uncheck()
        marks.first.check()
        page.get_by_label("Label the marked ones as").fill("Storno")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="1 text", exact=True)).to_be_visible()
        expect(told).to_be_empty()
        assert project.store.counts()["Storno"] == 3


def test_several_classes_are_marked_and_confirmed(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40))
    project.read(without_labels=True, task="several")
    with labelling(browser, project) as page:
        given, keys = page.locator("#given"), page.keyboard
        expect(given).to_contain_text("film")
        for name in ("mood", "price"):
            keys.type(name)
            keys.press("Enter")
        expect(page.locator(".classes [aria-pressed=true]")).to_have_count(2)
        text = str(given.text_content())
        keys.press("Enter")
        expect(given).not_to_have_text(text)
        text = str(given.text_content())
        keys.press("Enter")
        expect(page.locator("#alert")).to_contain_text("press 0 if none of them fits")
        keys.type("read|write")
        keys.press("Enter")
        expect(page.locator("#alert")).to_contain_text("A class cannot hold |")
        expect(page.locator(".classes [aria-pressed=true]")).to_have_count(0)
        page.locator("#typed").fill("")
        for key in ("2", "1", "2", "Enter"):
            keys.press(key)
        expect(given).not_to_have_text(text)
        text = str(given.text_content())
        keys.press("0")
        expect(given).not_to_have_text(text)
        cells = [row["label"] for row in project.store.rows("SELECT label FROM decisions ORDER BY id")]
        assert cells == ["mood|price", "mood", ""]
        keys.press("ArrowLeft")
        keys.press("ArrowLeft")
        expect(page.locator(".classes [aria-pressed=true]")).to_have_count(0)


def test_each_class_of_several_leads_to_its_texts(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(4))
    project.read(text="text", without_labels=True, task="several")
    for number, given in enumerate(("a|b", "a", "b"), 1):
        label(project, [number], given)
    found = [(1, "a", 0.9), (2, "a|b", 0.8), (3, "", 0.7)]
    project.store.keep_unseen(pl.DataFrame(found, ["id", "answered", "probability"], orient="row"), number=1)
    project.store.write_round(1, "done", {"labels": 3})
    with labelling(browser, project) as page:
        go_to(page, "why")
        expect(page.locator("tbody tr")).to_have_text(["a200", "b021"])
        check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))
        for texts, name, text in (("2 texts", "b was missed", "number 0"), ("1 text", "b was too much", "number 1")):
            page.get_by_role("link", name=f"{texts} where {name}").focus()
            page.keyboard.press("Enter")
            expect(page.locator(".near-texts li").first).to_contain_text(text)
            expect(page.get_by_role("heading", name=texts, exact=True)).to_be_visible()
            go_to(page, "why")


def test_an_answer_that_comes_late_takes_nothing_away(browser: Browser, tmp_path: Path) -> None:
    project, held = project_of(tmp_path, some_texts(40)), list[Route]()
    project.read(without_labels=True, task="several")
    with labelling(browser, project) as page:
        given, keys, said = page.locator("#given"), page.keyboard, page.locator("#alert")
        expect(given).to_contain_text("film")
        page.route("**/desk/state", lambda route: held.append(route))
        text = str(given.text_content())
        keys.press("0")
        expect(given).not_to_have_text(text)
        keys.press("Enter")
        expect(said).to_contain_text("press 0 if none of them fits")
        keys.type("mood")
        keys.press("Enter")
        expect(page.locator(".classes [aria-pressed=true]")).to_have_count(1)
        let_go(page, held)
        expect(page.get_by_text("1 label, 39 texts left.")).to_be_visible()
        expect(said).to_contain_text("press 0 if none of them fits")
        expect(page.locator(".classes [aria-pressed=true]")).to_have_count(1)


def test_who_hides_suggestions_does_not_stay_at_a_text_that_was_decided_meanwhile(page: Page, desk: Desk) -> None:
    held, given = list[Route](), page.locator("#given")
    page.route("**/desk/people", lambda route: held.append(route))
    text = str(given.text_content())
    with page.expect_request("**/desk/people"):
        page.locator("#blind").check()
    (decided,) = (row["id"] for row in desk.rounds.project.store.rows("SELECT id FROM texts WHERE text = ?", text))
    label(desk.rounds.project, [decided], "praise", who="anna")
    let_go(page, held)
    expect(given).not_to_have_text(text)


def test_a_step_that_is_drawn_takes_the_focus_from_nobody(page: Page, desk: Desk) -> None:
    held, keys = list[Route](), page.keyboard
    page.route("**/desk/next*", lambda route: held.append(route))
    with page.expect_request("**/desk/next*"):
        page.reload()
    page.locator("#step-why").focus()
    let_go(page, held)
    expect(page.locator("#given")).not_to_be_empty()
    expect(page.locator("#step-why")).to_be_focused()
    label(desk.rounds.project, [1, 2], "praise")
    found = pl.DataFrame({"id": [1, 2], "answered": ["praise", "blame"], "probability": 0.9})
    desk.rounds.project.store.keep_unseen(found, number=1)
    desk.rounds.project.store.write_round(1, "done", {"labels": 2})
    page.evaluate("dispatchEvent(new Event('focus'))")
    keys.press("Enter")
    expect(page.locator(".verdict")).to_contain_text("Round 1 answered")
    link = page.get_by_role("link", name="1 text labelled praise and answered blame")
    link.focus()
    with page.expect_response("**/desk/groups*"):
        page.evaluate("dispatchEvent(new Event('focus'))")
    expect(link).to_be_focused()


def test_columns_beside_a_text_are_chosen_and_shown(browser: Browser, tmp_path: Path) -> None:
    rows = [(f"is the lamp number {n} red?", f"yes, lamp {n} is", "Berlin") for n in range(20)]
    project = Project.open(tmp_path / "desk")
    project.take(write_csv(tmp_path / "t.csv", rows, ("question", "answer", "shop")))
    with opened(browser, project) as page:
        url = page.url.split("desk")[0]
        page.goto(f"{url}desk#open")
        page.get_by_text("All columns").click()
        page.get_by_label("Texts").select_option("question")
        page.get_by_label("What answer is used for").select_option("a further text")
        page.get_by_label("What shop is used for").select_option(label="beside the text: a category or a number")
        page.get_by_role("link", name="Begin to label").click()
        expect(page.locator("#given")).to_contain_text("is the lamp")
        expect(page.locator(".work dl")).to_contain_text("answer")
        expect(page.locator(".work dl")).to_contain_text("Berlin")
        check_with_axe(page)
        suggested = {"id": list(range(1, 21)), "label": "good", "probability": 0.75, "place": list(range(20))}
        project.store.suggest(pl.DataFrame(suggested), number=1)
        words = [{"word": "lamp", "start": 49, "end": 53, "total": 2.0, "input": "answer"}]
        explained = {"text": "question: is the lamp number 6 red?\nanswer: yes, lamp 6 is", "words": words}
        page.route("**/explain", lambda route: route.fulfill(json=explained))
        page.goto(f"{url}desk#texts")
        page.get_by_label("Search").fill("lamp 6")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="2 texts", exact=True)).to_be_visible()
        page.locator(".near-texts a").first.click()
        expect(page.locator(".work dl .for")).to_have_text("lamp")
        expect(page.locator("#given")).to_have_text("is the lamp number 6 red?")
        page.goto(f"{url}desk#texts")
        page.get_by_label("Search").fill("lamp 19")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="1 text", exact=True)).to_be_visible()


def test_columns_that_are_refused_are_not_left(browser: Browser, tmp_path: Path) -> None:
    rows = [(f"is the lamp number {n} red?", f"{n}" if n % 2 else "") for n in range(20)]
    project = Project.open(tmp_path / "desk")
    project.take(write_csv(tmp_path / "t.csv", rows, ("question", "price")))
    desk = create_desk(project, learn)
    with answering(desk.app) as url:
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        page.get_by_label("Labels").select_option("question")
        page.get_by_role("link", name="Begin to label").click()
        expect(page.locator("#alert")).to_contain_text("question")
        expect(page.locator("#step-open[aria-current]")).to_be_visible()
        page.get_by_label("Labels").select_option("price")
        for _ in range(3):  # the last of several steps that are asked for is shown
            page.evaluate("location.hash = '#texts'; location.hash = '#mend'; location.hash = '#label'")
        expect(page.locator("#given")).to_contain_text("is the lamp")
        assert project.store.facts["label"] == "price", "the columns are read before the step is shown"
        page.close()


def test_a_number_is_typed(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40), given=["1.25", "", "", ""] * 10)
    with labelling(browser, project) as page:
        given, keys = page.locator("#given"), page.keyboard
        expect(given).to_contain_text("film")
        text = str(given.text_content())
        keys.type("-2,5")
        keys.press("Enter")
        expect(given).not_to_have_text(text)
        keys.type("many")
        keys.press("Enter")
        expect(page.locator("#alert")).to_contain_text("'many' is not a number")
        keys.press("Escape")
        text = str(given.text_content())
        keys.press("Delete")
        expect(given).not_to_have_text(text)
        expect(page.locator("#alert")).to_be_hidden()
        decided = project.store.rows("SELECT kind, label FROM decisions WHERE batch > 0 ORDER BY id")
        assert [tuple(row) for row in decided] == [("label", "-2.5"), ("drop", None)]


@pytest.fixture
def long_words(tmp_path: Path) -> Project:
    """A project in which everything is shown, with texts, labels and names that do not break."""
    project = project_of(tmp_path, [f"{'unbreakable' * 30} {number}" for number in range(60)])
    for number in range(1, 13):
        label(project, [number], f"class-{'of-complaints-' * 6}{number}")
    label(project, [1, 2], f"praise{'!' * 90}", who="somebody-with-a-long-name" * 3, note="because" * 20)
    store = project.store
    store.write_round(1, "failed", {"labels": 20, "seconds": 9.0, "command": "glassformer train", "reason": "/x" * 90})
    record = {"labels": 20, "seconds": 9.0, "command": f"glassformer train labels.csv --out {'models/' * 40}"}
    store.write_round(2, "done", record)
    suggested = {"id": list(range(1, 61)), "label": "praise" * 30, "probability": 0.75, "place": list(range(60))}
    store.suggest(pl.DataFrame(suggested), number=2)
    label(project, list(range(20, 40)), "praise" * 30, way="random")
    doubt = {"id": 20, "label": "praise" * 30, "suggested": "blame" * 30, "why": "doubtful label"}
    store.note(doubts=[doubt], found=[f"the column {'remark' * 30} holds the texts"])
    return project


def test_each_step_can_be_read(long_words: Project, browser: Browser) -> None:
    desk = create_desk(long_words, learn)
    with answering(desk.app) as url:
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))
        page.get_by_role("button", name="me", exact=True).click()
        for step in ("open", "label", "texts", "train", "mend", "use"):
            page.goto(f"{url}desk#{step}")
            page.reload()
            expect(page.locator(f"#step-{step}[aria-current]")).to_be_visible()
            page.wait_for_load_state("networkidle")
            check_it_can_be_read(page, looks=(("light", 1400), ("dark", 320)))
        page.close()


def test_a_label_of_one_tab_is_seen_in_another(page: Page, desk: Desk, browser: Browser) -> None:
    project = desk.rounds.project
    other = browser.new_page()
    other.goto(page.url)
    given = page.locator("#given")
    first = str(given.text_content())
    expect(other.locator("#given")).to_have_text(first)
    page.keyboard.type("praise")
    page.keyboard.press("Enter")
    expect(given).not_to_have_text(first)
    expect(other.locator("#given")).to_have_text(str(given.text_content()))
    expect(other.locator(".classes button")).to_contain_text("praise 1")
    expect(other.get_by_text("1 label, 399 texts left")).to_be_visible()
    second = str(given.text_content())
    other.locator("#typed").fill("bla")
    page.keyboard.press("1")
    expect(given).not_to_have_text(second)
    expect(other.get_by_text("2 labels, 398 texts left")).to_be_visible()
    expect(other.locator("#given")).to_have_text(second)  # what is being typed stays
    other.locator("#typed").fill("blame")
    other.keyboard.press("Enter")
    expect(other.locator("#given")).not_to_have_text(second)
    expect(page.get_by_text("2 labels, 398 texts left")).to_be_visible()
    assert project.store.counts() == {"praise": 1, "blame": 1}
    assert project.store.value("SELECT count(*) FROM decisions") == 3, "no decision is lost"
    other.close()


def test_an_answer_from_before_a_label_of_another_tab_is_not_shown(page: Page, browser: Browser) -> None:
    given, late = page.locator("#given"), list[tuple[Route, APIResponse]]()
    other = browser.new_page()
    other.goto(page.url)
    first = str(given.text_content())
    expect(other.locator("#given")).to_have_text(first)
    other.route("**/desk/next*", lambda route: late.append((route, route.fetch())), times=1)
    with other.expect_request("**/desk/next*"):
        other.locator("#person").fill("ben")
        other.keyboard.press("Tab")
    while not late:
        other.wait_for_timeout(10)
    page.keyboard.type("praise")
    page.keyboard.press("Enter")
    expect(given).not_to_have_text(first)
    second = str(given.text_content())
    expect(other.locator("#given")).to_have_text(second)
    [(route, answer)] = late
    with other.expect_response("**/desk/next*"):
        route.fulfill(response=answer)
    other.evaluate("() => new Promise(requestAnimationFrame)")
    expect(other.locator("#given")).to_have_text(second)
    other.close()


def test_each_tab_labels_in_its_own_name(page: Page, desk: Desk, browser: Browser) -> None:
    store, given = desk.rounds.project.store, page.locator("#given")
    page.locator("#person").fill("anna")
    page.keyboard.press("Tab")
    other = browser.new_page()
    other.goto(page.url)
    expect(other.locator("#person")).to_have_value("anna")  # the only one that the project knows
    other.locator("#person").fill("ben")
    other.locator("#blind").check()
    expect(other.locator("#person")).to_have_value("ben")
    for tab, name in ((page, "anna"), (other, "ben")):
        text = str(given.text_content())
        expect(tab.locator("#given")).to_have_text(text)
        expect(tab.locator("#person")).to_have_value(name)
        tab.locator("#typed").fill("praise")
        tab.locator("#typed").press("Enter")
        expect(given).not_to_have_text(text)
    assert [row["who"] for row in store.rows("SELECT who FROM decisions ORDER BY id")] == ["anna", "ben"]
    expect(page.locator("#blind")).not_to_be_checked()
    page.locator("#person").fill("cleo")
    text = str(given.text_content())
    page.locator(".classes button").first.click()  # at once: the desk has not heard of the name
    expect(given).not_to_have_text(text)
    assert store.value("SELECT who FROM decisions ORDER BY id DESC") == "cleo"
    page.reload()
    expect(page.locator("#person")).to_have_value("cleo")
    other.close()


def test_a_new_tab_asks_who_labels_if_the_project_knows_several(browser: Browser, tmp_path: Path) -> None:
    project = project_of(tmp_path, some_texts(40))
    with labelling(browser, project) as page:
        page.locator("#person").fill("anna")
        with page.expect_response(lambda answer: answer.request.post_data_json == {"who": "anna", "blind": True}):
            page.locator("#blind").check()
        expect(page.locator("#blind")).to_be_checked()
    label(project, [1], "praise", who="anna")
    desk = create_desk(project, learn)
    with answering(desk.app) as url:  # another port, so nothing of the browser is left
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        expect(page.locator("#person")).to_have_value("anna")
        expect(page.locator("#blind")).to_be_checked()
        label(project, [2], "praise", who="ben")
        other = browser.new_page()
        other.goto(f"{url}desk#texts")
        expect(other.get_by_role("heading", name="Who are you?")).to_be_visible()
        expect(other.get_by_role("button", name="anna")).to_be_focused()
        check_it_can_be_read(other, looks=(("light", 1400), ("dark", 320)))
        other.locator("#step-label").click()
        other.keyboard.press("1")  # there is nothing to label yet
        other.get_by_role("button", name="ben").click()
        expect(other.locator("#person")).to_have_value("ben")
        expect(other.locator("#blind")).not_to_be_checked()
        third = browser.new_page()
        third.goto(f"{url}desk")
        third.get_by_label("Another name").fill("cleo")
        third.keyboard.press("Enter")
        expect(third.locator("#person")).to_have_value("cleo")
        assert third.evaluate("location.hash") == ""
        for tab in (page, other, third):
            tab.close()
    assert project.store.value("SELECT count(*) FROM decisions") == 2


@contextmanager
def nothing_can_be_written() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_said_and_nothing_is_lost(desk: Desk, browser: Browser) -> None:
    store = desk.rounds.project.store
    with answering(desk.app) as url:
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        page.get_by_role("link", name="Begin to label").click()
        given, said = page.locator("#given"), page.locator("#alert")
        expect(given).to_contain_text("film")
        text = str(given.text_content())
        page.keyboard.type("praise")
        with nothing_can_be_written():
            page.keyboard.press("Enter")
            expect(said).to_have_text(re.compile("nothing was kept: .*; free some space, and try again."))
        expect(given).to_have_text(text)
        expect(page.locator("#typed")).to_have_value("praise")  # what was typed is there still
        assert store.counts() == {}
        page.keyboard.press("Enter")
        expect(given).not_to_have_text(text)
        expect(said).to_be_hidden()
        assert store.counts() == {"praise": 1}
        with nothing_can_be_written():
            answer = page.request.post(f"{url}desk/table?name=new.csv", data="text\na film\n")
            assert (answer.status, answer.json()["reason"][:16]) == (507, "nothing was kept")
        page.close()


def tab_to(page: Page, name: str) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        reached = "[document.activeElement.id, document.activeElement.textContent].join(' ')"
        if name in page.evaluate(f"document.activeElement === document.body ? '' : {reached}"):  # it holds all texts
            return
    raise AssertionError(f"no Tab leads to {name}")


def test_the_keyboard_alone_leads_from_a_table_to_a_model(
    browser: Browser, tmp_path: Path, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_already(monkeypatch, reviews)
    write_csv(tmp_path / "mine.csv", [(text,) for text in some_texts(60)], ("text",))
    desk = create_desk(Project.open(tmp_path / "desk"), learn)
    with answering(desk.app) as url:
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        expect(page.locator("#step-open[aria-current]")).to_be_visible()
        with page.expect_file_chooser() as choosing:
            tab_to(page, "file")
            page.keyboard.press("Enter")
        choosing.value.set_files(tmp_path / "mine.csv")
        expect(page.get_by_role("link", name="Begin to label")).to_be_visible()
        tab_to(page, "Begin to label")
        page.keyboard.press("Enter")
        given = page.locator("#given")
        for _ in range(FEWEST_LABELS):
            expect(page.locator("#typed")).to_be_focused()
            text = str(given.text_content())
            page.keyboard.type(is_of(text))
            page.keyboard.press("Enter")
            expect(given).not_to_have_text(text)
        tab_to(page, "step-train")
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="report")).to_be_visible()
        tab_to(page, "report")
        desk.rounds.stop()
        page.close()


def test_a_closed_desk_is_said(desk: Desk, browser: Browser) -> None:
    with answering(desk.app) as url:
        page = browser.new_page()
        page.goto(f"{url}{desk.app.query}")
        page.get_by_role("link", name="Begin to label").click()
        expect(page.locator("#typed")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#alert")).to_contain_text("it was closed. Labels are kept")
    page.close()
