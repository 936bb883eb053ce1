"""The plots: their points stand where their axes say, and their names cover nothing."""

import json
import math
import re
from itertools import combinations

import pytest

from benchmarks.experiment import RESULTS, ROOT
from benchmarks.plots import PLOTS, Panel, grid, log_axis
from benchmarks.tables_speed import kinds_of_texts
from glassformer.evaluation.charts import Series, axis

CLOSE = [(f"name {number}", (10 + number / 10, 20 + number / 10)) for number in range(6)]


def drawn(points: list[tuple[str, tuple[float, float]]]) -> str:
    series = [Series(name=name, style="second", points=[point]) for name, point in points]
    x, y = (axis("seconds", [0, 40]) for _ in range(2))
    return grid("A title", [Panel(title="one", series=series, x=x, y=y, width=720, height=300)])


def test_names_of_close_points_do_not_cover_each_other() -> None:
    places = {
        name: (float(x), float(y))
        for x, y, name in re.findall(r'<text x="([\d.]+)" y="([\d.]+)">(name \d)</text>', drawn(CLOSE))
    }
    assert len(places) == len(CLOSE)
    for (x, y), (other_x, other_y) in combinations(places.values(), 2):
        assert abs(x - other_x) >= 35 or abs(y - other_y) >= 12


def test_a_logarithmic_axis_has_a_tick_at_each_power_of_ten() -> None:
    found = log_axis("seconds", [0.02, 500])
    assert [found.show(tick) for tick in found.ticks] == ["0.1", "1", "10", "100"]
    assert found.low < math.log10(0.02) < math.log10(500) < found.high


def test_every_plot_is_shown_in_the_docs_with_its_axes_named() -> None:
    page = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("how-*/*.md"))
    for name in PLOTS:
        assert re.search(rf"!\[[^\]]{{40,}}\]\(\.\./pictures/{name}\.svg\)", page), name
        text = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        assert "prefers-color-scheme: dark" in text
        assert re.search(r"<title id=[^>]+>\w", text)
        assert re.search(r"seconds of training|MB on disk|KL from the start, nats|>rows<", text)


@pytest.mark.parametrize("name", ["accuracy-by-time", "accuracy-by-epoch", "speed-by-size"])
def test_another_figure_is_another_plot(name: str) -> None:
    result, draw = PLOTS[name]
    found = json.loads((RESULTS / f"{result}.json").read_text(encoding="utf-8"))
    before = draw(found)
    if name == "accuracy-by-time":
        found["entries"][0]["contestants"]["ours"]["accuracy"] = 0.5
    elif name == "accuracy-by-epoch":
        found["contestants"][0]["accuracy_by_epoch"][0] = 0.5
    else:
        found["contestants"][0][kinds_of_texts(found)[0]]["texts_per_second"] = 5.0
    assert draw(found) != before
