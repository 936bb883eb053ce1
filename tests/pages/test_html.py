from glassformer.pages.html import templates

PAGE = """
{% extends "pages/page.html.jinja" %}
{% from "pages/parts.html.jinja" import section %}
{% block style %}.own {}{% endblock %}
{% block subtitle %}<i>5 rows</i>{% endblock %}
{% block headline %}<p>fine</p>{% endblock %}
{% block footer %}{{ foot }}{% endblock %}
{% block sections %}
{% call section("one", "First") %}<p>here</p>{% endcall %}
{% call section("two", "Second") %}{% endcall %}
{% endblock %}
"""


def test_a_page_holds_what_it_is_given_and_escapes_what_is_plain_text() -> None:
    html = templates().from_string(PAGE).render(title="<b>.csv", kind="report", foot="<u>")
    assert "<title>&lt;b&gt;.csv · glassformer report</title>" in html
    assert "<h1>&lt;b&gt;.csv</h1>" in html
    assert "<p>&lt;u&gt;</p></footer>" in html
    assert '<section id="one"><h2>First</h2>\n<p>here</p>\n</section>' in html
    assert "Second" not in html
    assert html.count('<a href="#') == 1
    assert ".own {}</style>" in html
    assert "color-scheme: light dark" in html
    assert "default-src 'none'" in html


def test_a_long_text_is_folded_and_escaped() -> None:
    folded = templates().get_template("pages/parts.html.jinja").module.folded  # type: ignore[attr-defined]
    assert folded("<b>") == '<div class="text" dir="auto">&lt;b&gt;</div>\n'
    long = "<" * 321
    assert folded(long).count("&lt;") == 320 + 321
    assert "Whole text (321 characters)" in folded(long)
