"""The pages of the docs as a site: what they link to exists, nothing is lost, and the reference has all of the code."""

import importlib.util
import re
import runpy
from collections import Counter
from functools import cache
from os.path import normpath
from pathlib import Path
from typing import Any

import pytest

from glassformer.training.recipe import PretrainingRecipe, Recipe, shipped_recipes
from tests.cli.terminal import commands
from tests.running import Running

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SHELVES = ("tutorial", "how-to", "how-it-works", "reference")
MOST_WORDS, MOST_LINES_OF_THE_README = 40_000, 140
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
GENERATED: dict[str, Any] = runpy.run_path(str(DOCS / "site" / "generated.py"))
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@cache
def prose(page: Path) -> str:
    """A page with its generated parts, without blocks of code."""
    return FENCE.sub("", GENERATED["expand"](page.read_text(encoding="utf-8")))


def words(page: Path) -> int:
    """How many words a page has. Separators of tables are none."""
    return sum(any(map(str.isalnum, word)) for word in page.read_text(encoding="utf-8").split())


def test_the_shelves_can_be_read() -> None:
    """What is written from the code does not count. A shelf that grows has something to leave out."""
    assert sum(words(page) for shelf in SHELVES for page in (DOCS / shelf).rglob("*.md")) <= MOST_WORDS
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= MOST_LINES_OF_THE_README


@cache
def anchors(page: Path) -> set[str]:
    """The names by which headings are linked, as GitHub and the site write them."""
    seen: Counter[str] = Counter()
    for heading in re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE):
        plain = re.sub(r"\]\([^)]*\)", "", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        seen[slug] += 1
    return {slug if not number else f"{slug}-{number}" for slug, count in seen.items() for number in range(count)}


def links(page: Path) -> list[tuple[Path, str]]:
    """The files that a page links to, each with its anchor."""
    found = LINK.findall(prose(page))
    return [(Path(normpath(page.parent / to)) if to else page, anchor) for to, anchor in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_anchors_of_a_page_lead_somewhere(page: Path) -> None:
    for to, anchor in links(page):
        assert to.exists(), to
        assert to.is_relative_to(ROOT), to
        if anchor:
            assert anchor in anchors(to), f"{to.name} has no heading #{anchor}"


def test_every_page_is_reached_from_the_first() -> None:
    first = DOCS / "index.md"
    reached, waiting = {first}, [first]
    while waiting:
        new = {to for to, _ in links(waiting.pop()) if to.suffix == ".md" and to.is_relative_to(DOCS)} - reached
        reached |= new
        waiting += new
    assert set(DOCS.rglob("*.md")) == reached


@pytest.mark.parametrize("shelf", SHELVES)
def test_a_shelf_lists_its_pages(shelf: str) -> None:
    listed = {to for to, _ in links(DOCS / shelf / "index.md")}
    assert {page for page in (DOCS / shelf).glob("*.md") if page.name != "index.md"} <= listed


def test_the_reference_has_every_command_and_flag_and_says_what_they_do() -> None:
    page = GENERATED["commands"]()
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL))
    assert list(sections) == [name for name, _ in commands()]
    for name, command in commands():
        assert command.help, name
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert getattr(parameter, "help", None), f"{name} {parameter.opts[0]} has no help"
                assert parameter.opts[0] in sections[name], f"{name} {parameter.opts[0]}"


def test_the_reference_has_every_recipe_and_says_what_it_is_for() -> None:
    page = GENERATED["recipes"]()
    for kind in (Recipe, PretrainingRecipe):
        for name in shipped_recipes(kind):
            assert re.search(rf"^`{name}`\n: \w", page, re.MULTILINE), name


def test_the_reference_documents_every_public_name() -> None:
    page = GENERATED["python"]()
    for heading, text in re.findall(r"^###? (.*?)\n+```python\n.*?```\n(.*?)(?=^###? |\Z)", page, re.M | re.S):
        assert re.match(r"\s*\w", text), f"{heading} has no docstring"
    for name in ("TextClassifier", "TextRegressor", "check_labels", "score", "TextClassifier.predict_proba"):
        assert re.search(rf"^###? {name}$", page, re.MULTILINE), name


BUILD = """
import sys
from sphinx.cmd.build import build_main
plain = build_main(["-D", "html_theme=basic", *sys.argv[1:]])
sys.exit(plain or build_main([*sys.argv[1:], "docs/index.md", "docs/reference/python.md"]))
"""
"""All pages without the menu of the theme, which takes half of the time, and two pages with it."""


@pytest.mark.skipif(importlib.util.find_spec("furo") is None, reason="needs pip install 'glassformer[docs]'")
def test_the_site_is_built_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    command = re.search(
        r"^docs: .*\n\t\$\(BIN\)/python (.*) build/docs$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert command
    arguments = [word for word in command[1].split() if word not in ("-m", "sphinx")]
    done = Running("-c", BUILD, *arguments, tmp_path / "site", log=tmp_path / "log")
    assert done.end() == 0, done.said
    for shelf in SHELVES:
        assert (tmp_path / "site" / shelf / "index.html").is_file()
    assert "TextClassifier.predict_proba" in (tmp_path / "site/reference/python.html").read_text(encoding="utf-8")
