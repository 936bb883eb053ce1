"""A lesson as a notebook and as a script; figures in a notebook and in a terminal."""

import json
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from glassformer.course.figures import curves, heat_map, show
from glassformer.course.lessons import lesson, lessons
from glassformer.course.model import SETTINGS, opinions, small_model
from glassformer.course.writing import notebook, script, write_lesson
from glassformer.errors import UsageError


@pytest.mark.parametrize("each", lessons(), ids=lambda each: each.name)
def test_a_notebook_has_the_prose_and_the_code_of_the_lesson(each: object) -> None:
    found = lesson(str(getattr(each, "number")))  # noqa: B009
    document = json.loads(notebook(found))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    cells = document["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    assert code == [cell.text for cell in found.cells() if cell.kind == "code"]
    prose = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    assert prose.startswith(f"# {found.number}. {found.title}")
    assert prose.count("<summary>Solution</summary>") == 3
    assert "](" not in prose.replace("](http", ""), "links lead nowhere from the folder of a reader"
    if found.number < len(lessons()):
        assert f"`glassformer course {found.number + 1}`" in prose


def test_a_script_runs_and_holds_its_solutions_at_the_end(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = desk / "lesson.py"
    write_lesson(lesson("3"), path)
    text = path.read_text(encoding="utf-8")
    assert "<details>" not in text
    assert text.index("# Solution of exercise 3.1:") > text.index('check("3.3"')
    runpy.run_path(str(path))
    printed = capsys.readouterr().out
    assert "What “bad” receives from each token, head 0" in printed
    assert "Exercise 3.3: no answer yet." in printed


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    first, path = lesson("1"), tmp_path / "lesson.ipynb"
    with pytest.raises(UsageError, match=r"is written as \.ipynb or \.py"):
        write_lesson(first, tmp_path / "lesson.html")
    with pytest.raises(UsageError, match="there is no folder"):
        write_lesson(first, tmp_path / "no" / "lesson.py")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        write_lesson(first, tmp_path / "folder.py")
    path.write_text("my answers", encoding="utf-8")
    with pytest.raises(UsageError, match="already there, perhaps with your answers"):
        write_lesson(first, path)
    assert path.read_text(encoding="utf-8") == "my answers"
    write_lesson(first, path, overwrite=True)
    assert path.read_text(encoding="utf-8") == notebook(first)
    assert script(first).count("# %%") > 10


def test_a_heat_map_is_a_picture_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    figure = heat_map("a < b", [[0.5, -1.0, 0.0], [float("-inf"), 0.25, 1.0]], ["x", "long"], ["p", "q", "r"])
    assert ElementTree.fromstring(figure.svg).tag.endswith("svg")
    assert figure.text.splitlines() == [
        "         p      q     r",
        "   x  0.50  −1.00  0.00",
        "long    −∞   0.25  1.00",
    ]
    show(figure)
    assert capsys.readouterr().out == f"\na < b\n{figure.text}\n\n"
    assert figure._repr_html_().startswith('<img alt="a &lt; b" src="data:image/svg+xml;base64,')
    with pytest.raises(ValueError, match="there are 1 × 3 names"):
        heat_map("no", [[1.0, 2.0]], ["x"], ["p", "q", "r"])


def test_curves_are_a_picture_and_a_table() -> None:
    figure = curves("Loss", {"slow": [2.0, 1.0, 0.5], "fast": [2.0, 0.25]})
    assert ElementTree.fromstring(figure.svg).tag.endswith("svg")
    assert figure.text.splitlines()[0].split() == ["step", "slow", "fast"]
    assert figure.text.splitlines()[2].split() == ["1", "1.00", "0.25"]
    assert figure.text.splitlines()[3].split() == ["2", "0.50"]


def test_in_a_notebook_a_figure_is_displayed(monkeypatch: pytest.MonkeyPatch) -> None:
    displayed: list[object] = []
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=displayed.append))
    figure = heat_map("a", [[1.0]], ["x"], ["p"])
    show(figure, figure)
    assert displayed == [figure, figure]


def test_opinions_cannot_be_told_by_their_words() -> None:
    texts, labels = opinions()
    assert len(set(texts)) == len(texts) == 1_600
    by_words: dict[tuple[str, ...], list[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        if "but" in text:
            by_words.setdefault(tuple(sorted(text.split())), []).append(label)
    assert all(found.count("positive") * 2 == len(found) for found in by_words.values())
    given = dict(zip(texts, labels, strict=True))
    assert given["the plot is dull but the music is not bad"] == "positive"
    assert given["the ending is not stale"] == "positive"


def test_the_model_is_trained_where_it_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SETTINGS, "training.min_steps_per_epoch", 1)
    folder = tmp_path / "mine"
    small_model(folder)
    assert f"Training a small model in {folder}" in capsys.readouterr().out
    small_model(folder)
    assert capsys.readouterr().out == ""
