"""HTML pages and tables. A page is a single file without links to others, in the reader's light or dark scheme."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from glassformer.data.wording import counted

Cells = Sequence[str]

SHORT_TEXT = 320


def rendered(template: str, **values: Any) -> str:
    """Return a page. What is no `Markup` is escaped.

    Args:
        template: its room and name, such as "audit/page".
        values: what the template shows, and functions that it words it with.
    """
    return _templates().get_template(f"{template}.html.jinja").render(values)


def written(template: str, **values: Any) -> str:
    """Return a text in Markdown, in which nothing is escaped. The arguments are those of `rendered`."""
    return _templates().get_template(f"{template}.md.jinja").render(values) + "\n"


@cache
def _templates() -> Environment:
    """Return the templates of all rooms. Those of pages extend `pages/page.html.jinja`."""
    templates = Environment(
        loader=PackageLoader("glassformer", "."), autoescape=lambda name: not str(name).endswith(".md.jinja"),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    templates.filters |= {
        "fmt": format,
        "counted": counted,
        "headings": _headings,
        "digest": lambda code: Markup(digest(code)),
        "scrolling": lambda wide: Markup(scrolling(wide)),
    }
    templates.globals |= {
        "asset": lambda room, name: Markup(asset(room, name)),
        "embedded": lambda key, document: Markup(embedded(key, document)),
    }
    return templates


def _headings(main: str) -> list[tuple[str, Markup]]:
    """Return the id and the heading of each section."""
    return [(key, Markup(name)) for key, name in re.findall(r'<section id="(.*?)"><h2>(.*?)</h2>', main)]


def page(
    title: str,
    kind: str,
    *,
    subtitle: str,
    headline: str,
    sections: Mapping[str, tuple[str, str]],
    footer: str,
    style: str = "",
    module: str = "",
) -> str:
    """Return a whole page.

    Args:
        title: plain text, like `kind` and `footer`. The other arguments are HTML.
        sections: id → heading and body. A section without a body is left out.
        style: rules in addition to those of `page.css`.
        module: code that runs when the page is there. It may call `el` of `elements.js`.
    """
    shown = {key: (heading, body) for key, (heading, body) in sections.items() if body}
    main = "".join(f'<section id="{key}"><h2>{heading}</h2>{body}</section>' for key, (heading, body) in shown.items())
    html = {"subtitle": subtitle, "headline": headline, "sections": main, "style": style, "module": module}
    marked = {name: Markup(part) for name, part in html.items()}
    return rendered("pages/page", title=title, kind=kind, footer=footer, **marked)


def table(
    caption: str,
    head: Iterable[str],
    rows: Iterable[tuple[str, Cells]],
    *,
    ours: int | None = None,
    foot: Iterable[tuple[str, Cells]] = (),
    sortable: bool = False,
) -> str:
    """Return a table. Its cells are HTML. If it is wide, it scrolls and not the page.

    Args:
        ours: the number of the row to highlight.
        foot: rows that stay at the end when the table is sorted.
    """
    top = "".join(f'<th scope="col">{name}</th>' for name in head)
    mark = ' class="ours"'
    lines = "".join(_line(row, mark if number == ours else "") for number, row in enumerate(rows))
    below = "".join(_line(row) for row in foot)
    kind = ' class="sortable"' if sortable else ""
    return scrolling(
        f"<table{kind}><caption>{caption}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{lines}</tbody>{f'<tfoot>{below}</tfoot>' if below else ''}</table>"
    )


def folded(text: str) -> str:
    """Return a text of a user. If it is long, only its beginning is shown at first."""
    if len(text) <= SHORT_TEXT:
        return f'<div class="text" dir="auto">{escape(text)}</div>'
    return (
        f'<details><summary>Whole text ({len(text):,} characters) <span class="short text" dir="auto"><br>'
        f'{escape(text[:SHORT_TEXT])}…</span></summary><div class="text" dir="auto">{escape(text)}</div></details>'
    )


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


def _line(row: tuple[str, Cells], attributes: str = "") -> str:
    first, rest = row
    return f'<tr{attributes}><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


def digest(code: str) -> str:
    """Return how a Content-Security-Policy names this script or style sheet and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"
