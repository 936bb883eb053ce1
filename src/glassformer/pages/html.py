"""HTML pages and tables. A page is a single file without links to others, in the reader's light or dark scheme."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from glassformer.data.wording import UNSAFE, counted, share_in_percent


def rendered(template: str, **values: Any) -> str:
    """Return a page. What is no `Markup` is escaped.

    Args:
        template: its room and name, such as "audit/page".
        values: what the template shows, and functions that it words it with.
    """
    return templates().get_template(f"{template}.html.jinja").render(values)


def written(template: str, **values: Any) -> str:
    """Return a text in Markdown, in which nothing is escaped. The arguments are those of `rendered`."""
    return UNSAFE.sub("\ufffd", templates().get_template(f"{template}.md.jinja").render(values)) + "\n"


@cache
def templates() -> Environment:
    """Return the templates of all rooms. Those of pages extend `pages/page.html.jinja`."""
    found = Environment(
        loader=PackageLoader("glassformer", "."), autoescape=lambda name: not str(name).endswith(".md.jinja"),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.filters |= {
        "fmt": format,
        "counted": counted,
        "percent": share_in_percent,
        "headings": _headings,
        "digest": lambda code: Markup(digest(code)),
        "scrolling": lambda wide: Markup(scrolling(wide)),
    }
    found.globals |= {
        "asset": lambda room, name: Markup(asset(room, name)),
        "embedded": lambda key, document: Markup(embedded(key, document)),
    }
    return found


def _headings(main: str) -> list[tuple[str, Markup]]:
    """Return the id and the heading of each section."""
    return [(key, Markup(name)) for key, name in re.findall(r'<section id="(.*?)"><h2>(.*?)</h2>', main)]


def embedded(key: str, document: object) -> str:
    """Return JSON values for the module of a page, which finds them by this id, and a hint if it cannot run."""
    values = json.dumps(document, ensure_ascii=True).replace("<", "\\u003c")
    return (
        f'<script type="application/json" id="{key}">{values}</script>'
        "<noscript><p>This page needs JavaScript. It is in this file.</p></noscript>"
    )


def asset(room: str, name: str) -> str:
    """Return the text of a style sheet or script of a room, such as `tracing`."""
    return files(f"glassformer.{room}").joinpath(name).read_text(encoding="utf-8")


def scrolling(wide: str) -> str:
    """Let a part that may be wider than the screen scroll, with a hint that `tables.js` shows if it does."""
    hint = '<p class="swipe">Wider than the screen: scroll sideways.</p>'
    return f'<div class="scroll" tabindex="0">{wide}</div>{hint}'


def digest(code: str) -> str:
    """Return how a Content-Security-Policy names this script or style sheet and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"
