"""The page of a model that answers with a number."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from glassformer.serving.feedback import FeedbackFile
from tests.browser.chromium import CHROMIUM, check_it_can_be_read
from tests.browser.serving import running
from tests.browser.test_serve_tables import DROP
from tests.serving.samples import of_numbers

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

WORDS = ".why [role=button]"
TEXT = "superb film 3"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("scores")
    with running(of_numbers(folder / "model"), feedback=FeedbackFile(folder / "kept.jsonl")) as found:
        yield found


def typed(page: Page) -> None:
    page.locator("#text").fill(TEXT)
    expect(page.locator(WORDS)).to_have_text(TEXT.split())


def test_the_right_number_is_said_and_all_can_be_read(page: Page) -> None:
    typed(page)
    page.get_by_text("Say the right answer").click()
    for given, said in (("much", "Give a number, such as 3.5."), ("2.5", "Kept, with the answer of the model.")):
        page.locator(".feedback input").fill(given)
        page.get_by_role("button", name="Keep").click()
        expect(page.locator(".feedback [role=status]")).to_have_text(said)
    page.locator("details").evaluate_all("all => all.forEach(details => details.open = true)")
    check_it_can_be_read(page, (".label", ".ends", ".answer .soft", ".legend"))


def test_the_number_its_interval_and_the_words_are_shown(page: Page, url: str) -> None:
    expect(page.locator(".answer")).to_contain_text("Numbers of training: 1.")
    typed(page)
    answer = page.request.post(f"{url}predict", data={"text": TEXT}).json()["answers"][0]
    before = page.locator(".label").inner_text()
    assert float(before) == pytest.approx(answer["prediction"], abs=1e-3)
    low, high = page.locator(".answer").inner_text().split(": such")[0].splitlines()[-1].split(" to ")
    assert float(low.replace("−", "-")) == pytest.approx(answer["interval_low"], abs=1e-3)
    assert float(high) == pytest.approx(answer["interval_high"], abs=1e-3)
    assert page.locator(".readers .value").count() == 2
    assert page.locator(".legend").inner_text().split() == ["raises", "the", "number", "lowers", "it"]
    expect(page.locator("#spoken")).to_have_text(f"scores: {answer['prediction']}.")
    page.locator(WORDS).first.focus()
    page.keyboard.press("Delete")
    expect(page.locator(".verdict-of-change")).to_have_text(f"As written: {before}")
    expect(page.locator(".label")).not_to_have_text(before)
    expect(page.locator(".why h3")).to_have_text(f"Why {before}, for the text as written?")
    page.get_by_text("Word by word").click()
    expect(page.locator(".shares tbody tr")).to_have_count(3)
    expect(page.locator(".shares tfoot tr").last).to_contain_text("sum: the number")
    page.get_by_text("Undo").click()
    page.get_by_text("Head by head").click()
    expect(page.locator(".heads td button").first).to_be_visible()
    page.get_by_text("What would turn the answer?").click()
    turning = page.locator(".turning .inside")
    expect(turning).to_contain_text("changed texts were answered")
    with page.context.expect_page() as opened:
        page.get_by_text("Every number of this answer").click()
    expect(opened.value.locator("body")).to_contain_text("Gradients are those of the transformer’s score of score.")
    opened.value.close()
    page.locator("#text").fill("")
    expect(page.locator(".label")).to_have_count(0)


def test_a_table_is_answered_and_drift_is_shown(page: Page, url: str) -> None:
    expect(page.locator(".choose")).to_be_visible()  # from then on the page takes tables
    texts = ["superb film 3", " ", *["poor song 1"] * 120]
    page.request.post(f"{url}predict", data={"texts": texts[2:]}, headers={"sec-fetch-site": ""})
    page.evaluate(
        DROP, ["new.csv", "text,score\n" + "\n".join(f"{text},{1 + number % 5}" for number, text in enumerate(texts))]
    )
    expect(page.locator(".first-rows tbody tr")).to_have_count(10)
    answer = page.request.post(f"{url}predict", data={"text": TEXT}).json()["answers"][0]
    first = page.locator(".first-rows tbody tr").first.locator("td").first.inner_text()
    number, interval = first.split(" (")
    assert float(number) == pytest.approx(answer["prediction"], abs=1e-3)
    assert interval.endswith(")")
    expect(page.locator(".first-rows tbody tr").nth(1)).to_contain_text("no answer")
    expect(page.locator(".of-model")).to_contain_text("1 empty text without an answer.")
    expect(page.locator(".figures-of-table .label")).to_contain_text("R²")
    expect(page.locator(".figures-of-table")).to_contain_text("121 rows with a number")
    expect(page.locator(".figures-of-table thead")).to_contain_text("mean absolute error")
    expect(page.get_by_role("button", name="Compare with TF-IDF + ridge regression")).to_be_visible()
    expect(page.locator(".found .bars")).to_have_count(0)
    page.get_by_text("Drift: the recent texts").click()
    expect(page.locator(".inside").filter(has_text="held-out rows")).to_contain_text("answer")
