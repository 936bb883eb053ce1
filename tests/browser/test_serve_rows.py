"""The page of a model that reads several inputs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from glassformer.serving.feedback import FeedbackFile
from tests.browser.chromium import CHROMIUM, check_it_can_be_read, let_go
from tests.browser.serving import running, served_page
from tests.browser.test_serve_tables import DROP
from tests.explanation.test_explain import two_readers
from tests.serving.samples import ROW, of_groups, of_rows, served

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

WORDS = ".why [role=button]"
SHOWN = ["shop=Berlin", "price=3 to 5.5", "the", "plot", "is", "thin", "not", "again"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "kept.jsonl"


@pytest.fixture(scope="module")
def url(kept: Path) -> Iterator[str]:
    with running(served(trained=of_rows()), feedback=FeedbackFile(kept)) as found:
        yield found


def field(page: Page, name: str) -> Locator:
    return page.get_by_label(name, exact=True)


def typed(page: Page) -> None:
    """Type a row, and wait for its reasons."""
    for name, value in ROW.items():
        field(page, name).fill(str(value))
    expect(page.locator(WORDS)).to_have_text(SHOWN)


def asked(page: Page) -> list[Any]:
    """The rows of the answers that are asked for from now on."""
    rows: list[Any] = []

    def note(request: Any) -> None:
        if request.url.endswith("/predict"):
            rows.append(json.loads(request.post_data)["text"])

    page.on("request", note)
    return rows


def test_a_row_is_answered_while_it_is_typed(page: Page) -> None:
    rows = asked(page)
    expect(field(page, "shop")).to_have_attribute("placeholder", "missing")
    suggested = page.locator("datalist option").evaluate_all("all => all.map(option => option.value)")
    assert suggested == ["Berlin", "New York"]
    field(page, "shop").fill("Berlin")
    field(page, "reply").fill("not again")
    expect(page.locator(".label")).to_be_visible()
    assert rows == [{"review": "", "reply": "not again", "shop": "Berlin", "price": None}]
    typed(page)
    expect(page.locator(".why .words")).to_have_text(
        "shop=Berlin, price=3 to 5.5\nreview: the plot is thin\nreply: not again", use_inner_text=True
    )
    before = page.locator(".confidence").inner_text()
    field(page, "shop").fill("Ulm")
    expect(page.locator(WORDS).first).to_have_text("shop=other")
    expect(page.locator(".confidence")).not_to_have_text(before)
    field(page, "price").fill("")
    expect(page.locator(WORDS).nth(1)).to_have_text("price=missing")
    for text in ("review", "reply"):
        field(page, text).fill("  ")
    expect(page.locator(".label")).to_have_count(0)


def test_an_answer_that_comes_after_the_row_was_emptied_is_not_shown(page: Page) -> None:
    held: list[Route] = []
    page.route("**/predict", lambda route: held.append(route))
    with page.expect_request("**/predict"):
        field(page, "reply").fill("not again")
    field(page, "reply").fill("")
    page.wait_for_timeout(500)  # until the page has read it
    with page.expect_response("**/predict"):
        let_go(page, held)
    page.wait_for_timeout(200)
    expect(page.locator(".label")).to_have_count(0)


def test_words_of_both_texts_and_values_are_changed_and_kept(page: Page) -> None:
    field(page, "review").fill("👩‍👩‍👧 x")  # places count code points
    typed(page)
    rows = asked(page)
    page.locator(WORDS).nth(3).focus()
    page.keyboard.press("Delete")
    expect(page.locator(".verdict-of-change")).to_be_visible()
    page.locator(WORDS).nth(6).click()
    page.keyboard.type("see it")
    page.keyboard.press("Enter")
    page.locator(WORDS).nth(0).click()
    box = page.get_by_role("dialog").get_by_role("combobox")
    expect(box).to_have_attribute("placeholder", "another value")
    assert page.locator(f"#{box.get_attribute('list')} option").count() == 2
    page.keyboard.type("New York")
    page.keyboard.press("Enter")
    page.locator(WORDS).nth(1).focus()
    page.keyboard.press("Delete")
    expect(page.locator("#changes")).to_contain_text("2 words dropped, 2 words swapped.")
    page.get_by_role("button", name="Keep").click()
    kept = {"review": "the is thin", "reply": "see it again", "shop": "New York", "price": None}
    for name, value in kept.items():
        expect(field(page, name)).to_have_value(value or "")
    expect(page.locator(WORDS)).to_have_text(
        ["shop=New York", "price=missing", "the", "is", "thin", "see", "it", "again"]
    )
    assert rows[-1] == kept


def test_what_turns_the_answer_can_be_tried(page: Page) -> None:
    typed(page)
    page.get_by_role("button", name="What would turn the answer?").click()
    turned = page.locator(".turning b")
    expect(turned).to_be_visible()
    label = turned.inner_text()
    page.get_by_role("button", name="Try it").click()
    expect(page.locator(".label")).to_contain_text(label)
    expect(page.locator(".verdict-of-change")).to_contain_text("As written: ")


def test_a_value_is_typed_as_a_number_within_its_range(page: Page) -> None:
    price = {"name": "price", "kind": "number", "values": ["below 3", "3 to 5.5", "5.5 or more"], "edges": [3, 5.5]}
    found = page.evaluate(
        """async price => {
          const { typed } = await import("./page/fields.js");
          const values = [...price.values, "missing"].map(value => typed(price, `price=${value}`));
          return [...values, typed({ ...price, edges: [0, 2] }, "price=below 3")];
        }""",
        price,
    )
    assert found == ["1.5", "3", "5.5", "", "-1"]


def test_heads_look_at_the_words_of_a_row(page: Page) -> None:
    typed(page)
    page.get_by_text("Head by head", exact=True).click()
    expect(page.locator(".heads .words [role=button]")).to_have_text(SHOWN)
    page.locator(".heads .words [role=button]").nth(2).click()
    expect(page.locator(".heads .said")).to_contain_text("from “the”")
    page.get_by_text("Word by word", exact=True).click()
    expect(page.locator(".shares tbody th")).to_contain_text(["shop=Berlin", "the (review)", "again (reply)"])


def test_a_row_of_a_table_is_looked_into(page: Page) -> None:
    expect(page.locator(".choose")).to_be_visible()  # from then on the page takes tables
    page.evaluate(DROP, ["new.csv", "price,shop,Reply,review\n4,berlin,not again,the plot is thin\n,,it,\n"])
    expect(page.locator(".found h3")).to_have_text("new.csv: 2 rows")
    expect(page.get_by_label("Column of texts")).to_have_count(0)
    page.locator(".first-rows button.text").first.click()
    expect(page.locator(WORDS)).to_have_text(SHOWN)
    page.locator(".first-rows button.text").nth(1).click()
    expect(page.locator(WORDS)).to_have_text(["shop=missing", "price=missing", "it"])


def test_the_right_answer_to_a_row_is_said_and_all_can_be_read(browser: Browser, page: Page, kept: Path) -> None:
    expect(page.locator("#keeps")).to_have_text("keeps only texts whose right answer you give")
    typed(page)
    page.get_by_text("Say the right answer").click()
    expect(page.get_by_label("Its group")).to_have_count(0)
    page.get_by_role("button", name="Keep").click()
    expect(page.locator(".feedback [role=status]")).to_have_text("Choose a label.")
    page.get_by_label("Right label").select_option("fine")
    page.get_by_role("button", name="Keep").click()
    expect(page.locator(".feedback [role=status]")).to_have_text("Kept, with the answer of the model.")
    check_it_can_be_read(page, (".values label", ".values input", ".values + .soft"))
    several = served(trained=two_readers(multilabel=True))
    with served_page(browser, several, feedback=FeedbackFile(kept)) as page:
        page.locator("#text").fill("not again")
        page.get_by_text("Say the right answer").click()
        page.get_by_label("fine").check()
        page.get_by_role("button", name="Keep").click()
        expect(page.locator(".feedback [role=status]")).to_contain_text("Kept")
    with served_page(browser, served(trained=of_groups()), feedback=FeedbackFile(kept)) as page:
        page.locator("#text").fill("not again")
        page.get_by_text("Say the right answer").click()
        page.get_by_label("Its group (customer)").fill(" Anna ")
        page.get_by_label("Right label").select_option("bad")
        for _ in range(2):
            with page.expect_response("**/feedback"):
                page.get_by_role("button", name="Keep").click()
            expect(page.get_by_label("Its group (customer)")).to_have_value("")
    first, second, *grouped = (json.loads(line) for line in kept.read_text().splitlines())
    assert {name: first[name] for name in ROW} == ROW | {"price": str(ROW["price"])}
    assert (first["label"], second["text"], second["label"]) == ("fine", "not again", ["fine"])
    assert [line.get("customer") for line in (first, second, *grouped)] == [None, None, "Anna", None]


def test_models_that_read_different_inputs_do_not_share_a_page(browser: Browser) -> None:
    with served_page(browser, served() | served("rows", of_rows())) as page:
        expect(page.get_by_role("alert")).to_contain_text("These models read different inputs")
        expect(page.locator("#text")).to_be_hidden()
