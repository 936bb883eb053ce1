from glassformer.pages.html import page, table


def test_a_page_holds_what_it_is_given_and_escapes_what_is_plain_text() -> None:
    sections = {"one": ("First", "<p>here</p>"), "two": ("Second", "")}
    html = page(
        "<b>.csv", "report", subtitle="<i>5 rows</i>", headline="<p>fine</p>", sections=sections, footer="<u>",
        style=".own {}",
    )  # fmt: skip
    assert "<title>&lt;b&gt;.csv · glassformer report</title>" in html
    assert "<h1>&lt;b&gt;.csv</h1>" in html
    assert "<p>&lt;u&gt;</p></footer>" in html
    assert '<section id="one"><h2>First</h2><p>here</p></section>' in html
    assert "Second" not in html
    assert html.count('<a href="#') == 1
    assert ".own {}</style>" in html
    assert "color-scheme: light dark" in html
    assert "default-src 'none'" in html


def test_one_row_of_a_table_stands_out() -> None:
    html = table("Two rows.", ("", "size"), [("<b>a</b>", ["3"]), ("c", ["4"])], ours=1)
    assert '<tr><th scope="row"><b>a</b></th><td>3</td></tr>' in html
    assert '<tr class="ours"><th scope="row">c</th><td>4</td></tr>' in html
    assert "ours" not in table("One row.", ("",), [("a", [])])
