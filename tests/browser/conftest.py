from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from tests.browser.chromium import ARGUMENTS, CHROMIUM
from tests.browser.serving import complaints, opened

HURRY = """for (const name of ["setTimeout", "setInterval"]) {
  const slowly = window[name];
  window[name] = (what, milliseconds = 0, ...more) => slowly(what, milliseconds / 10, ...more);
}"""
"""Pages wait a tenth of their time: until typing pauses, until a server is back."""
WIDE: ViewportSize = {"width": 1280, "height": 720}


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for all pages: it takes seconds to start.

    A page of its own takes half a second, for a process. Ours are opened by one that stays open beside another at
    127.0.0.1, so that they share the processes of the two.
    """
    folder = tmp_path_factory.mktemp("blank")
    (folder / "blank.html").write_text("<!doctype html><title>blank</title>")
    server = HTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    expect.set_options(timeout=60_000)  # a busy machine may train for longer than the usual 5 seconds
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        first = browser.new_page()
        first.context.add_init_script(HURRY)
        first.goto((folder / "blank.html").as_uri())
        _open(first).goto(f"http://127.0.0.1:{server.server_port}/blank.html")
        vars(browser)["new_page"] = partial(_open, first)
        yield browser
    server.shutdown()
    server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def _open(first: Page, *, color_scheme: Any = "light", viewport: ViewportSize | None = None) -> Page:
    """Open a page as `Browser.new_page` does."""
    with first.context.expect_page() as opening:
        first.evaluate("void window.open('about:blank')")
    page = opening.value
    page.emulate_media(color_scheme=color_scheme, reduced_motion="no-preference")
    page.set_viewport_size(viewport or WIDE)
    return page


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page()
    yield opened
    opened.close()


@pytest.fixture
def page(tab: Page, url: str) -> Iterator[Page]:
    """The page at the `url` of a test file. Nothing may go wrong in its console."""
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size(WIDE)
    tab.mouse.move(0, 0)
    said = complaints(tab)
    opened(tab, url)
    yield tab
    tab.unroute_all()  # first, or a complaint would leave its routes to the next test
    assert said == []
