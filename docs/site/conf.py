"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCS = HERE.parent
sys.path.insert(0, str(HERE))

import generated  # noqa: E402 (found through the line above)

import glassformer  # noqa: E402

project, author, release = "glassformer", "The glassformer authors", glassformer.__version__
project_copyright = author
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
html_theme, html_title = "furo", "glassformer"
html_static_path: list[str] = []
html_copy_source = False
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

_PAGES = re.compile(r"<!-- pages -->")
_TO_PAGE = re.compile(r"\]\(([^):#]+\.md)\)")
_TO_FOLDER_OUTSIDE = re.compile(r"\[([^]]+)\]\(((?:\.\./)+[^):#]*)\)")


def read_page(_: Any, page: str, source: list[str]) -> None:
    """Complete a page: what is generated, and the contents of its shelf, in the order of the links on it."""
    text = generated.expand(source[0])
    listed = "\n".join(dict.fromkeys(link.removesuffix(".md") for link in _TO_PAGE.findall(text)))
    text = _PAGES.sub(lambda _: f"```{{toctree}}\n:hidden:\n\n{listed}\n```", text)
    folder = (DOCS / page).parent
    # The site holds files that its pages link to, but no folders of the repository.
    source[0] = _TO_FOLDER_OUTSIDE.sub(lambda link: link[1] if (folder / link[2]).is_dir() else link[0], text)


def show_linked_files(_: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:  # noqa: ARG001
    """Let the browser show a linked file, such as a trace, where Sphinx would have it saved."""
    if "body" in context:
        context["body"] = context["body"].replace(' download=""', "")


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("source-read", read_page)
    app.connect("html-page-context", show_linked_files)
