from html import unescape
from pathlib import Path

import pytest

from glassformer.evaluation.verdict import share
from glassformer.experiments.pages import comparison_page
from glassformer.experiments.variants.comparison_result import VariantComparison
from tests.evaluation.test_report import Balanced
from tests.experiments.variants.samples import compared


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> VariantComparison:
    return compared(tmp_path_factory.mktemp("page"))


def test_well_formed_and_whole(found: VariantComparison) -> None:
    page, html = Balanced(), comparison_page(found)
    page.feed(html)
    assert page.open == []
    assert page.seen.count("svg") == 4
    assert page.seen.count("desc") == page.seen.count("svg")
    words = unescape(html)
    for said in (found.verdict, found.covers, found.data.sha256, "2 seeds each", *found.notes):
        assert said in words
    for variant in found.variants:
        assert variant.name in words
        assert f"{variant.parameters:,}" in words
        assert f"{share(variant.mean.low)} to {share(variant.mean.high)}" in words
    for key in found.keys:
        assert key.verdict[1:] in words


def test_one_of_anything_is_one(found: VariantComparison) -> None:
    changes = {
        "data": found.data.model_copy(update={"rows": 1, "measured_rows": 1}),
        "threads": 1,
        "machine": found.machine.model_copy(update={"cores": 1}),
    }
    html = unescape(comparison_page(found.model_copy(update=changes)))
    for said in (f"{found.data.source}, 1 row<", ": 1 row per run", ", 1 thread; 1 core, "):
        assert said in html


def test_every_dot_has_its_interval_around_it(found: VariantComparison) -> None:
    html = comparison_page(found)
    assert (
        html.count("<circle") == html.count('whisker" x1') == 2 * 4 + 2 + 2
    )  # that of all variants is there for wide and narrow screens
    assert html.count('class="mark"') == 2  # a line at zero for each key


def test_escapes_everything_of_the_user(found: VariantComparison) -> None:
    evil = "<script>alert('x')</script>"
    variants = tuple(variant.model_copy(update={"name": evil}) for variant in found.variants)
    keys = tuple(
        key.model_copy(
            update={
                "key": evil,
                "verdict": evil,
                "values": tuple(value.model_copy(update={"value": evil}) for value in key.values),
                "differences": tuple(
                    pair.model_copy(update={"better": evil, "worse": evil}) for pair in key.differences
                ),
            }
        )
        for key in found.keys
    )
    changed = {
        "variants": variants, "keys": keys, "best": evil, "verdict": evil, "notes": (evil,), "command": evil,
        "varied": {evil: [1, 2]}, "data": found.data.model_copy(update={"source": evil, "measured_on": evil}),
    }  # fmt: skip
    html = comparison_page(found.model_copy(update=changed))
    assert html.count("<script") == 1  # ours
    assert html.count("&lt;script&gt;") > 15


def test_needs_nothing_else(found: VariantComparison, tmp_path: Path) -> None:
    html = comparison_page(found)
    for reference in ("http://", "https://", "src=", "url(", "@import", "<link"):
        assert reference not in html
    assert str(tmp_path) not in html
