"""Draws the pictures of the README from a real run: `make pictures` (needs Chromium for the report).

terminal.svg    what `make demo` prints
report.png      the top of the report that it writes
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS = 120
REPORT_SIZE = {"width": 1100, "height": 900}
COMMANDS = (
    ("train", "polarity", "--recipe", "polarity", "--out", "runs/demo"),
    ("evaluate", "runs/demo", "polarity"),
    ("predict", "runs/demo", "the acting is dull, but the story is superb"),
)
# The library's own template fetches a font from the network; any monospaced font will do.
TEMPLATE = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def main() -> None:
    """Run the commands in a new folder and draw what they show."""
    with tempfile.TemporaryDirectory() as desk:
        console = Console(record=True, width=COLUMNS, file=io.StringIO())
        for arguments in COMMANDS:
            shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
            console.print(Text(f"$ glassformer {shown}", style="bold cyan"), soft_wrap=True)
            console.print(Text(_run(arguments, Path(desk)) + "\n"))
        svg = console.export_svg(title="glassformer", code_format=TEMPLATE, unique_id="terminal")
        (HERE / "terminal.svg").write_text(svg, encoding="utf-8")
        _photograph(Path(desk) / "runs/demo/evaluation/report.html", HERE / "report.png")


def _run(arguments: tuple[str, ...], desk: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "glassformer", *arguments],
        cwd=desk,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout.rstrip()


def _photograph(page_file: Path, picture: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium found, so report.png was not drawn")
    with sync_playwright() as playwright:
        options = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium, args=options)
        page = browser.new_page(viewport=REPORT_SIZE)
        page.goto(page_file.as_uri())
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
