import codecs
import csv
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from glassformer.prediction.predictor import Predictor
from glassformer.serving.limits import Limits
from tests.browser.chromium import CHROMIUM, check_it_can_be_read
from tests.browser.serving import running
from tests.browser.test_serve import WORDS
from tests.serving.samples import TEXT, served
from tests.trained import Trained
from tests.workbooks import xlsx

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

DROP = """([name, content]) => {
  const data = new DataTransfer();
  data.items.add(new File([content], name));
  for (const type of ["dragover", "drop"]) {
    dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""


@pytest.fixture(scope="module")
def url(reviews: Trained) -> Iterator[str]:
    """A trained model beside one with random weights, which has other labels."""
    models = served("trained", Predictor.load(reviews.folder).trained, reviews.folder) | served("random")
    with chdir(reviews.table.parent), running(models, limits=Limits(table_rows=400)) as url:
        yield url


@pytest.fixture
def page(page: Page) -> Page:
    expect(page.locator(".choose")).to_be_visible()
    return page


def test_two_models_answer_side_by_side(page: Page) -> None:
    expect(page).to_have_title("trained and random · glassformer")
    typed_in_both(page)
    columns = page.locator(".column")
    assert [columns.nth(number).locator("h2").inner_text() for number in range(2)] == ["trained", "random"]
    tops = [columns.nth(number).locator(".why").bounding_box() for number in range(2)]
    assert tops[0] is not None
    assert tops[1] is not None
    assert tops[0]["y"] == tops[1]["y"], "the reasons begin at the same height"
    assert tops[0]["x"] < tops[1]["x"]
    columns.nth(1).locator(WORDS).nth(1).focus()
    page.keyboard.press("Delete")
    for number in range(2):
        expect(columns.nth(number).locator(".dropped")).to_have_text("plot")
        expect(columns.nth(number).locator(".verdict-of-change")).to_be_visible()


def typed_in_both(page: Page) -> None:
    page.locator("#text").fill(TEXT)
    for number in range(2):
        expect(page.locator(".words").nth(number)).to_have_text(TEXT)


def test_a_dropped_table_is_answered_measured_and_can_be_kept(page: Page, reviews: Trained, tmp_path: Path) -> None:
    page.evaluate(DROP, ["test.csv", reviews.table.read_text(encoding="utf-8")])
    expect(page.locator(".found h3")).to_have_text("test.csv: 230 rows")
    ours, other = page.locator(".of-model").nth(0), page.locator(".of-model").nth(1)
    expect(ours.locator(".label")).to_have_text("1.000 accuracy")
    assert ours.locator(".bars .value").all_inner_texts() == ["115", "115"]
    expect(other).to_contain_text("Not measured: ")
    with page.expect_download() as download:
        ours.get_by_text("Download the answers").click()
    assert download.value.suggested_filename == "test-trained.csv"
    download.value.save_as(tmp_path / "answers.csv")
    assert (tmp_path / "answers.csv").read_bytes().startswith(codecs.BOM_UTF8), "or Excel reads another encoding"
    with (tmp_path / "answers.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 230
    assert all(row["prediction"] == row["label"] for row in rows)
    page.get_by_role("button", name="Compare with TF-IDF").click()
    expect(ours.locator("tbody th").first).to_have_text("TF-IDF + logistic regression")
    expect(page.get_by_role("button", name="Compare with TF-IDF")).to_have_count(0)


def test_a_table_that_is_refused_says_why(page: Page) -> None:
    desk = page.locator("#table")
    page.locator("input[type=file]").set_input_files(
        {"name": "new.csv", "mimeType": "text/csv", "buffer": b"text\n" + b"a\n" * 401}
    )
    expect(desk.get_by_role("status")).to_contain_text("new.csv has more than 400 rows")
    page.locator("input[type=file]").set_input_files({"name": "<b>.docx", "mimeType": "text/csv", "buffer": b"PK"})
    expect(desk.get_by_role("status")).to_contain_text("'<b>.docx': tables are read as .csv")
    page.evaluate(DROP, ["new.csv", "text,id\nthe plot,1\n,2\n"])
    expect(page.locator(".first-rows tbody tr")).to_have_count(2)
    expect(page.locator(".of-model").nth(1)).to_contain_text("1 empty text without an answer.")
    typed_in_both(page)
    page.evaluate(DROP, ["years.csv", "id,year\n1,1999\n2,2001\n"])
    expect(desk.get_by_role("status")).to_contain_text("Name it with “Column of texts” (and the label with")
    expect(page.get_by_label("Column of texts")).to_be_visible()
    expect(page.locator(".first-rows")).to_have_count(0)


def test_columns_are_named_and_a_row_is_looked_into(page: Page) -> None:
    long = "the plot is thin " * 30 + "indeed"
    rows = "".join(f"{number},good film {number},fine play {number}\n" for number in range(20))
    page.evaluate(DROP, ["new.csv", f"id,one,two\n20,{long},{long}\n{rows}"])
    expect(page.locator("#table").get_by_role("status")).to_contain_text("it is not clear")
    page.get_by_label("Column of texts").fill("two")
    page.get_by_label("Column of texts").press("Enter")  # the table is sent again
    expect(page.locator(".first-rows tbody tr")).to_have_count(10)
    expect(page.locator(".of-model").first).to_contain_text("name it with “Column of labels”")
    assert " … " in page.locator(".first-rows button").first.inner_text()
    page.locator(".first-rows button").first.click()
    expect(page.locator("#text")).to_have_value(long)
    page.locator(".first-rows button").nth(1).click()
    expect(page.locator("#text")).to_have_value("fine play 0")
    expect(page.locator(".words").first).to_have_text("fine play 0")


def test_a_sheet_of_a_workbook_is_named(page: Page) -> None:
    book = xlsx({"Daten": [["text"], ["the plot"]], "Rest": [["text"], ["a film"], ["a play"]]})
    page.locator("input[type=file]").set_input_files(
        {"name": "book.xlsx", "mimeType": "application/octet-stream", "buffer": book}
    )
    expect(page.locator("#table").get_by_role("status")).to_contain_text("2 sheets that are not empty; name one")
    page.get_by_label("Sheet").fill("Rest")
    page.get_by_label("Sheet").press("Enter")
    expect(page.locator(".first-rows tbody tr")).to_have_count(2)


def test_two_models_and_a_table_can_be_read_and_fit(page: Page, reviews: Trained) -> None:
    typed_in_both(page)
    page.locator("input[type=file]").set_input_files(reviews.table)
    expect(page.locator(".first-rows tbody tr")).to_have_count(10)
    first = page.locator(".first-rows tbody tr").first
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 844})
        expect(page.locator(".first-rows .swipe")).to_be_hidden()
        answer, text = (first.locator("td").nth(place).bounding_box() for place in (0, 2))
        assert answer is not None
        assert text is not None
        below = text["y"] >= answer["y"] + answer["height"]
        assert below == (width == 390), "the text is below the answers on a phone"
    check_it_can_be_read(page)
