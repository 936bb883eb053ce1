"""The browser of this machine, and how a page is opened in it."""

import shutil
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first has no window to draw, and takes half the time for a page."""
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
Look = tuple[Literal["light", "dark"], int]
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LOOKS: tuple[Look, ...] = tuple(product(SCHEMES, (1200, 390)))
"""Both schemes, on a screen and on a phone."""
CONTRAST = """element => {
  const parse = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => { const [r, g, b] = parse(colour).map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  let behind = element;
  while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
  const pair = [light(getComputedStyle(element).color), light(getComputedStyle(behind).backgroundColor)].sort();
  return (pair[1] + .05) / (pair[0] + .05);
}"""


def open_quietly(page: Page, path: Path) -> tuple[list[str], list[str]]:
    """Open a file; whatever the console said, and whatever was asked for besides the file."""
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    return said, [url for url in asked if url != path.as_uri()]


def check_it_can_be_read(
    page: Page, selectors: Sequence[str] = (), *, looks: Sequence[Look] = (LOOKS[0], LOOKS[-1])
) -> None:
    """It fits, what is selected has enough contrast, and axe finds no fault: on a screen and, dark, on a phone."""
    for scheme, width in looks:  # axe would take twice as long for all
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for selector in selectors:
            assert page.locator(selector).first.evaluate(CONTRAST) >= 4.5, selector
        check_with_axe(page)


def check_with_axe(page: Page) -> None:
    results = Axe().run(page, options={"resultTypes": ["violations"]})
    assert results.violations_count == 0, results.generate_report()


def let_go(page: Page, held: list[Route], count: int = 1) -> None:
    """Let `count` held requests go on. A request is announced before its route is there."""
    for _ in range(500):
        if len(held) >= count:
            break
        page.wait_for_timeout(10)
    while held:
        held.pop(0).continue_()
