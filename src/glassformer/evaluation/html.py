"""What the pages share: one HTML file that needs nothing else, in the reader's light or dark scheme, and its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

Cells = Sequence[str]


def page(
    title: str,
    kind: str,
    *,
    subtitle: str,
    headline: str,
    sections: Mapping[str, tuple[str, str]],
    footer: str,
    style: str = "",
) -> str:
    """The whole page.

    Args:
        title: plain text, as are `kind` and `footer`; all else is HTML already.
        sections: id → heading and body; one without a body is left out.
        style: rules beside those of `report.css`.
    """
    shown = {key: (heading, body) for key, (heading, body) in sections.items() if body}
    links = "".join(f'<a href="#{key}">{heading}</a>' for key, (heading, _) in shown.items())
    main = "".join(f'<section id="{key}"><h2>{heading}</h2>{body}</section>' for key, (heading, body) in shown.items())
    css = files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    name = escape(title)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name} · glassformer {kind}</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{css}{style}</style></head><body><header><h1>{name}</h1>"
        f'<p class="soft">{subtitle}</p></header><main><section id="headline">{headline}</section>'
        f'<nav aria-label="Sections">{links}</nav>{main}</main><footer><p>{escape(footer)}</p></footer></body></html>\n'
    )


def table(caption: str, head: Iterable[str], rows: Iterable[tuple[str, Cells]], *, ours: int | None = None) -> str:
    """A table whose cells are HTML already; a wide one scrolls by itself, not the page. Row `ours` stands out."""
    top = "".join(f'<th scope="col">{name}</th>' for name in head)
    mark = ' class="ours"'
    lines = "".join(
        f'<tr{mark if i == ours else ""}><th scope="row">{first}</th>'
        f"{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"
        for i, (first, rest) in enumerate(rows)
    )
    return (
        f'<div class="scroll" tabindex="0"><table><caption>{caption}</caption><thead><tr>{top}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )
