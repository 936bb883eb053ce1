from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import ARGUMENTS, CHROMIUM
from tests.browser.serving import complaints


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all pages: it takes seconds to start."""
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)


@pytest.fixture
def page(browser: Browser, url: str) -> Iterator[Page]:
    """The page at the `url` of a test file. Nothing may go wrong in its console."""
    opened = browser.new_page()
    said = complaints(opened)
    opened.goto(url)
    yield opened
    assert said == []
    opened.close()
