import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from glassformer.evaluation.report import write_report
from tests.browser.chromium import CHROMIUM, CONTRAST, LOOKS, open_quietly
from tests.evaluation.samples import HISTORY, sample_evaluation

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

READ = (".verdict", ".score", ".soft", "caption", "tbody td", ".errors b", ".errors s", "footer p", "nav a")


@pytest.fixture(scope="module", params=["three classes", "thirty classes", "several labels"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = {"three classes": (211, 3), "thirty classes": (350, 30), "several labels": (130, 5)}
    n, n_classes = sizes[request.param]
    text = "<script>document.title = 'caught'</script>" + "unbroken" * 40
    path = tmp_path_factory.mktemp("report") / "report.html"
    multilabel = request.param == "several labels"
    write_report(path, sample_evaluation(n, n_classes, multilabel=multilabel, text=text), HISTORY)
    return path


@pytest.fixture(scope="module")
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The report, which says nothing and asks for nothing."""
    page = browser.new_page()
    assert open_quietly(page, report) == ([], [])
    yield page
    page.close()


def on_phone(page: Page, phone: bool) -> None:
    page.set_viewport_size({"width": 390 if phone else 1200, "height": 844})


def test_is_whole(page: Page) -> None:
    assert page.title() == "reviews · glassformer report"
    headings = page.locator("h2").all_inner_texts()
    assert "Compared with baselines" in headings
    assert "How this was measured" in headings
    assert page.locator("svg > title").count() == page.locator("svg").count() >= 4


def test_can_be_read_in_both_schemes_and_fits_a_phone(page: Page) -> None:
    page.locator("details").first.evaluate("element => element.open = true")
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        on_phone(page, width == 390)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for selector in READ:
            assert page.locator(selector).first.evaluate(CONTRAST) >= 4.5, selector
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(17, 20, 24)") == (scheme == "dark")


def test_classes_can_be_sorted(page: Page) -> None:
    table = page.locator("#classes table.sortable")

    def column(number: int) -> list[str]:
        return table.locator(f"tbody tr td:nth-child({number})").all_inner_texts()

    averages = table.locator("tfoot th").all_inner_texts()
    support = [int(text) for text in column(6)]
    table.locator("th button", has_text="true rows").click()
    assert [int(text) for text in column(6)] == sorted(support, reverse=True)
    table.locator("th button", has_text="true rows").click()
    assert [int(text) for text in column(6)] == sorted(support)
    table.locator("th button", has_text="class").click()
    names = table.locator("tbody th").all_inner_texts()
    assert names == sorted(names, key=lambda name: [int(part) if part.isdigit() else part for part in name.split()])
    assert table.locator("tfoot th").all_inner_texts() == averages


def test_the_hint_on_scrolling_stands_under_what_scrolls(page: Page) -> None:
    on_phone(page, True)
    parts = page.evaluate(
        """[...document.querySelectorAll('.scroll')].map(part =>
            [part.scrollWidth > part.clientWidth, getComputedStyle(part.nextElementSibling).display !== 'none'])"""
    )
    assert all(scrolls == hinted for scrolls, hinted in parts)
    assert {scrolls for scrolls, _ in parts} == {True, False}


def test_says_what_a_phone_cannot_show(page: Page) -> None:
    for phone in (True, False):
        on_phone(page, phone)
        assert page.locator(".on-narrow").first.is_visible() is phone
        assert page.locator(".on-wide").first.is_visible() is not phone


def test_a_threshold_can_be_chosen(page: Page) -> None:
    chooser = page.locator("#chooser")
    found: list[int] = []
    for price in ("0.01", "1", "100"):
        chooser.locator("input[type=number]").fill(price)
        shown = chooser.locator("output").inner_text()
        said = re.match(r"(.+) from a probability of 1?\.\d{6} on: (\d+) of \d+ rows", shown)
        assert said is not None
        found.append(int(said[2]))
        assert chooser.locator("label").nth(1).inner_text().endswith("wrong one" if price == "1" else "wrong ones")
    assert found == sorted(found)  # the dearer a missed row, the more rows are found
    assert found[0] < found[-1]
    shown = chooser.locator("output").inner_text()
    chooser.locator("input[type=range]").press("ArrowRight")
    assert chooser.locator("output").inner_text() != shown
    if chooser.locator("option").count() > 1:
        chooser.locator("select").select_option(index=1)
        second = chooser.locator("option").nth(1).inner_text()
        assert chooser.locator("output").inner_text().startswith(f"{second} from")
