"""The module of an exported page that says what scores mean decides by costs as Python does."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from glassformer.exporting.web import joined
from glassformer.pages.html import asset
from glassformer.targets.costs import CostRow
from glassformer.targets.labels.target import labels_target
from tests.browser.chromium import CHROMIUM

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

NAMES = ("a", "b", "c")


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("costly", [False, True])
def test_answers_and_margins_are_those_of_python(browser: Browser, multilabel: bool, costly: bool) -> None:
    rng = np.random.default_rng(3)
    rows = [CostRow(truth="a", cost=7), CostRow(answer="review", cost=0.4)]
    rows += [] if multilabel else [CostRow(truth="c", answer="b", cost=3)]
    target = labels_target(NAMES, multilabel=multilabel, temperature=1.5, costs=tuple(rows) if costly else ())
    scores = {name: rng.normal(size=(60, 3)) * 2 for name in ("counting", "transformer")}
    expected = list(target.answers(scores, None, empty=np.zeros(60, np.bool_), texts=["x"] * 60).records())
    rule = target.rule
    costs = None if rule is None else {"wrong": rule.wrong.tolist(), "review": rule.review}
    about = {"labels": list(NAMES), "multilabel": multilabel, "temperature": 1.5, "levels": None, "costs": costs}
    page = browser.new_page()
    code = joined(asset("exporting", "page/labels.js")) + "\nexport { TargetOf };"
    found: list[dict[str, Any]] = page.evaluate(
        """async ([code, about, rows]) => {
          const blob = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
          const target = new (await import(blob)).TargetOf(about);
          return rows.map((row) => target.answer(row));
        }""",
        [code, about, [{name: each[at].tolist() for name, each in scores.items()} for at in range(60)]],
    )
    page.close()
    keys = ("prediction", "needs_review")
    assert [[each.get(key) for key in keys] for each in found] == [[each.get(key) for key in keys] for each in expected]
    assert ("needs_review" in found[0]) == costly
    for ours, theirs in zip(found, expected, strict=True):
        assert ours["confidence"] == pytest.approx(theirs["confidence"], abs=1e-6)
        assert ours["readers"] == pytest.approx(theirs["readers"], abs=1e-5)
