from pathlib import Path

import pytest
from playwright.sync_api import Browser

from glassformer.audit.page import write_audit
from tests.audit.test_page import sample
from tests.browser.chromium import CHROMIUM, CONTRAST, open_quietly

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1000)])
def test_the_page_loads_in_silence_fits_and_can_be_read(
    browser: Browser, tmp_path: Path, scheme: str, width: int
) -> None:
    write_audit(tmp_path, sample())
    page = browser.new_page(
        color_scheme="dark" if scheme == "dark" else "light", viewport={"width": width, "height": 844}
    )
    assert open_quietly(page, tmp_path / "audit.html") == ([], [])
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for selector in (".problem b", ".problem .level", ".advice", ".soft", ".stays", "caption", "nav a", "td small"):
        assert page.locator(selector).first.evaluate(CONTRAST) >= 4.5, selector
    page.close()
