from pathlib import Path

import pytest
from playwright.sync_api import Browser

from glassformer.audit.audit import write_audit
from tests.audit.test_page import sample
from tests.browser.chromium import CHROMIUM, check_it_can_be_read, open_quietly

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def test_the_page_loads_in_silence_fits_and_can_be_read(browser: Browser, tmp_path: Path) -> None:
    write_audit(tmp_path, sample())
    page = browser.new_page()
    assert open_quietly(page, tmp_path / "audit.html") == ([], [])
    check_it_can_be_read(
        page, (".problem b", ".problem .level", ".advice", ".soft", ".stays", "caption", "nav a", "td small")
    )
    page.close()
