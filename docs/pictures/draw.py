"""Draws the pictures of the README and the docs from a real run: `make pictures` (needs Chromium).

terminal.svg    what `make demo` prints
report.png      the top of the report that it writes
explain.svg     the same model explains an answer
trace.png       the top of the trace of that answer
serve.png       the page of `serve` with that text
desk.png        the desk, after labels of some texts were given
book-open.png   the desk, with what was found in the workbook of examples/tickets.py
book-train.png  its rounds, after some of the texts that it drew at random were labelled
"""

from __future__ import annotations

import io
import json
import os
import pty
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from glassformer.data import polarity

HERE = Path(__file__).parent
COLUMNS = 120
SIZE = {"width": 1100, "height": 900}
ROUND, LABELS = 20, 40  # texts: after so many the first model is waited for, and so many are labelled in all
TEXT = "the acting is very dull, to be honest, but the story is truly superb, all in all"
GLASSFORMER = (sys.executable, "-m", "glassformer")
COMMANDS = (
    ("train", "polarity", "--recipe", "polarity", "--out", "runs/demo"),
    ("evaluate", "runs/demo", "polarity"),
    ("predict", "runs/demo", TEXT),
)
# The library's own template fetches a font from the network; any monospaced font will do.
TEMPLATE = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def main() -> None:
    """Run the commands in a new folder and draw what they show."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Path(folder)
        _draw("terminal.svg", {arguments: Text(_run(arguments, desk)) for arguments in COMMANDS})
        explain = ("explain", "runs/demo", TEXT)
        _draw("explain.svg", {explain: Text.from_ansi(_run_in_terminal(explain, desk))})
        _run(("trace", "runs/demo", TEXT, "--html", "trace.html"), desk)
        with _chromium() as browser:
            _photograph(browser, (desk / "runs/demo/evaluation/report.html").as_uri(), "report.png")
            _photograph(browser, (desk / "trace.html").as_uri(), "trace.png")
            with _server(desk, "serve", "runs/demo", "--port", "0") as url:
                _photograph(browser, url, "serve.png", write=TEXT)
            texts = polarity.generate("train").frame.head(300)
            texts.select("text").write_csv(desk / "reviews.csv")
            with _server(desk, "desk", "reviews.csv", "--no-open") as url:
                _photograph_desk(browser, url, dict(texts.select("text", "label").iter_rows()))
            tickets = runpy.run_path(str(HERE.parents[1] / "examples" / "tickets.py"))
            with chdir(desk):
                tickets["main"]()
            with _server(desk, "desk", "tickets.xlsx", "--no-open") as url:
                _photograph_workbook(browser, url, dict(tickets["messages"](tickets["ROWS"])))


def _draw(name: str, said: Mapping[tuple[str, ...], Text]) -> None:
    """Draw a terminal with commands and what they said."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for arguments, answer in said.items():
        shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
        console.print(Text(f"$ glassformer {shown}", style="bold cyan"), soft_wrap=True)
        console.print(answer, "")
    svg = console.export_svg(title="glassformer", code_format=TEMPLATE, unique_id=Path(name).stem)
    (HERE / name).write_text(svg, encoding="utf-8")


def _run(arguments: tuple[str, ...], desk: Path) -> str:
    command = [*GLASSFORMER, *arguments]
    done = subprocess.run(command, cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    return done.stdout.rstrip()


def _run_in_terminal(arguments: tuple[str, ...], desk: Path) -> str:
    """Return what a command writes to standard output if it is a terminal, with its colours."""
    ours, theirs = pty.openpty()
    command = [*GLASSFORMER, *arguments]
    with subprocess.Popen(command, cwd=desk, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        said = b""
        with suppress(OSError):  # how a terminal says that nobody writes to it any more
            while part := os.read(ours, 4096):
                said += part
    os.close(ours)
    if process.returncode:
        sys.exit(f"glassformer {arguments[0]} failed")
    return said.decode().replace("\r", "").rstrip()


@contextmanager
def _server(desk: Path, *arguments: str) -> Iterator[str]:
    """Run a command that serves a page, and return the address."""
    command = [*GLASSFORMER, *arguments, "--json"]
    with subprocess.Popen(command, cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        document = ""
        while not document.endswith("}\n"):
            document += process.stdout.readline()
        yield json.loads(document)["url"]
        process.terminate()


@contextmanager
def _chromium() -> Iterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        sys.exit("no Chromium found, so the pages were not drawn")
    with sync_playwright() as playwright:
        options = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium, args=options)
        yield browser
        browser.close()


def _photograph(browser: Browser, url: str, name: str, *, write: str | None = None) -> None:
    """Photograph the top of a page, after a text was written into it."""
    page = browser.new_page(viewport=SIZE)
    page.goto(url)
    if write is not None:
        page.get_by_label("Your text").fill(write)
        page.get_by_text("random rankings").wait_for(timeout=60_000)
    page.screenshot(path=HERE / name)
    page.close()


def _photograph_desk(browser: Browser, url: str, truth: Mapping[str, str]) -> None:
    """Label texts by their true labels until the model suggests some, and photograph a text with its suggestion."""
    page = browser.new_page(viewport=SIZE)
    page.goto(url)
    page.get_by_role("link", name="Begin to label").click()
    suggestion = page.locator(".suggestion")
    _label(page, truth, ROUND)
    while "Training" in page.locator(".keys + p").inner_text():
        page.wait_for_timeout(500)
    _label(page, truth, LABELS - ROUND)
    while not suggestion.is_visible():
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(500)
    page.locator("#given .for").first.wait_for()
    page.screenshot(path=HERE / "desk.png", clip={"x": 0, "y": 0, "width": SIZE["width"], "height": 640})
    page.close()


def _label(page: Page, truth: Mapping[str, str], texts: int) -> None:
    """Label the next texts by their true labels."""
    given = page.locator("#given")
    page.locator("#typed:focus").wait_for()
    for _ in range(texts):
        text = given.inner_text()
        page.keyboard.type(truth[text])
        page.keyboard.press("Enter")
        while given.inner_text() == text:
            page.wait_for_timeout(20)


def _photograph_workbook(browser: Browser, url: str, truth: Mapping[str, str]) -> None:
    """Train on the labels that a workbook has, label more, and photograph what was found in it and the first round."""
    page = browser.new_page(viewport=SIZE)
    page.goto(url)
    page.locator("#step-open").click()
    page.locator("#text-column option").first.wait_for(state="attached")
    page.screenshot(path=HERE / "book-open.png", full_page=True)
    page.locator("#step-train").click()
    page.get_by_role("button", name="Train now").click()
    page.get_by_role("link", name="report").wait_for(timeout=600_000)
    page.locator("#step-label").click()
    _label(page, truth, LABELS)
    page.locator("#step-train").click()
    page.get_by_text("right on").first.wait_for()
    page.get_by_role("button", name="Stop").wait_for(state="hidden", timeout=600_000)
    page.get_by_text("more labels would").wait_for()
    page.screenshot(path=HERE / "book-train.png", full_page=True)
    page.close()


if __name__ == "__main__":
    main()
