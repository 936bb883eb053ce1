"""Each lesson runs from top to bottom, and its exercises know right answers from wrong ones."""

import ast
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer import course
from glassformer.course import figures
from glassformer.course.checking import judge
from glassformer.course.exercises import all_exercises
from glassformer.course.lessons import Lesson, lessons
from glassformer.course.model import SETTINGS
from glassformer.errors import UsageError
from tests.support import unchecked_shapes
from tests.test_house import ROOT

DOCS = ROOT / "docs" / "course"
LONGEST, LAST = 150, 245  # lines before the exercises; the last lesson builds an assistant, lets it cheat and mends it
LEARNED = re.compile(r"(?<=steps)=200\b|(?<=updates)=40\b")
ALL = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.name)
SOLVED = [(lesson, name) for lesson in lessons() for name in lesson.solutions()]


def run(code: str, scope: dict[str, Any]) -> None:
    exec(compile(code, "a lesson", "exec"), scope)


def exercise_cells(lesson: Lesson) -> dict[str, str]:
    cells = [cell.text for cell in lesson.cells() if cell.kind == "code" and 'check("' in cell.text]
    return dict(zip(lesson.solutions(), cells, strict=True))


def check_outputs(lesson: Lesson, ran: Sequence[tuple[str, str]]) -> None:
    """The page shows what each cell prints. Numbers of a trained model depend on the processor."""
    shown = re.findall(r"^```text\n(.*?)\n```$", lesson.text, flags=re.DOTALL | re.MULTILINE)
    printed = [bool(output) and 'check("' not in cell for cell, output in ran]
    assert len(shown) == sum(printed), "run python docs/pictures/course.py"
    drawn, on_page = re.compile(r"small_model\(\)|multinomial\("), iter(shown)  # trained models, and what they write
    for (cell, output), is_shown in zip(ran, printed, strict=True):
        if drawn.search(cell):
            break
        if is_shown:
            assert rounded(next(on_page)) == rounded(output)


def rounded(text: str) -> str:
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.3f}", text.strip())


@ALL
def test_a_lesson_runs_and_its_solutions_are_right(
    lesson: Lesson, desk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From top to bottom as it comes, with all exercises unanswered; then with the solutions.

    What a model that learns in the lesson says is not compared with the page, so it takes few steps.
    """
    assert desk == Path.cwd()
    monkeypatch.setitem(SETTINGS, "training.min_steps_per_epoch", 10)
    shown: list[figures.Figure] = []
    monkeypatch.setattr(figures, "show", lambda *these: shown.extend(these))
    scope: dict[str, Any] = {"__name__": "__main__"}
    code = [LEARNED.sub("=5", cell.text) for cell in lesson.cells() if cell.kind == "code"]
    outputs: list[str] = []
    with unchecked_shapes():  # twice as fast
        for cell in code:
            run(cell, scope)
            outputs.append(capsys.readouterr().out)
    assert "False" not in "".join(outputs), "what a lesson compares is equal"
    unanswered = re.findall(r"Exercise (\d+\.\d): no answer yet", "".join(outputs))
    assert unanswered == list(lesson.solutions())
    assert len(shown) == len(re.findall(r"^!\[", lesson.text, re.MULTILINE)), "a picture for each figure"
    check_outputs(lesson, list(zip(code, outputs, strict=True)))
    for name, exercise in exercise_cells(lesson).items():
        run(lesson.solutions()[name], scope)
        run(exercise.splitlines()[-1], scope)
        assert f"Exercise {name}: right." in capsys.readouterr().out


@ALL
def test_a_lesson_is_short_and_has_three_exercises(lesson: Lesson) -> None:
    assert list(lesson.solutions()) == [f"{lesson.number}.{number}" for number in (1, 2, 3)]
    lesson_itself = re.sub(r"```text\n.*?\n```\n\n", "", lesson.text.partition("## Exercises")[0], flags=re.DOTALL)
    assert len(lesson_itself.splitlines()) <= (LAST if lesson.number == 10 else LONGEST)
    lines = {kind: [cell.text for cell in lesson.cells() if cell.kind == kind] for kind in ("prose", "code")}
    prose, code = ("\n".join(lines[kind]).splitlines() for kind in ("prose", "code"))
    assert max(map(len, prose)) <= 120
    assert max(map(len, code)) <= 104, "a longer line must be scrolled in a notebook"


@ALL
def test_links_of_a_lesson_lead_somewhere(lesson: Lesson) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", lesson.text):
        assert (DOCS / target).exists(), target


def test_the_page_of_the_course_links_to_each_lesson() -> None:
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    for lesson in lessons():
        assert f"[{lesson.number}. {lesson.title}]({lesson.name}.md)" in page
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page):
        assert (DOCS / target).exists(), target
    for name in course.__all__:
        assert f"| `{name}" in page, name


def test_lessons_follow_each_other() -> None:
    found = lessons()
    assert [lesson.number for lesson in found] == list(range(1, len(found) + 1))
    for lesson, following in pairwise(found):
        assert f"Next: [{following.number}. {following.title}]({following.name}.md)." in lesson.text
    assert list(all_exercises()) == [name for _, name in SOLVED]


@pytest.mark.parametrize("name", [name for _, name in SOLVED])
def test_slips_are_recognised(name: str, desk: Path) -> None:
    """Each wrong answer that many give gets its own remark, and is not right."""
    assert desk.is_dir()
    exercise = all_exercises()[name]
    for slip, remark in exercise.slips:
        verdict = judge(name, slip if exercise.kind == "function" else slip())
        assert verdict.right is False, remark
        assert verdict.says == remark


@pytest.mark.parametrize("name", [name for _, name in SOLVED])
def test_any_other_wrong_answer_gets_a_hint(name: str, desk: Path) -> None:
    assert desk.is_dir()
    exercise = all_exercises()[name]
    if exercise.kind == "word":
        wrong: Any = "nothing"
    elif exercise.kind == "function":
        wrong = lambda *arguments: exercise.right(*arguments) * 3 + 17  # noqa: E731
    else:
        wrong = torch.as_tensor(exercise.right()).double() * 3 + 17
    verdict = judge(name, wrong)
    assert verdict.right is False
    assert verdict.says.endswith(exercise.hint)
    assert len(verdict.says) > len(exercise.hint)


def test_answers_of_a_wrong_kind_are_refused_in_words(desk: Path) -> None:
    assert desk.is_dir()
    assert "Give numbers here" in judge("1.1", "half").says
    assert "The shape is 4; it should be 4 × 4" in judge("1.1", [0.5, 0.5, 0, 0]).says
    assert "Give the function, not its result" in judge("1.2", [1, 2]).says
    assert "stopped with ZeroDivisionError" in judge("1.2", lambda values: values * (1 // 0)).says
    assert "returned None" in judge("1.2", lambda _values: None).says
    assert "Give a word in quotes" in judge("2.3", 3).says
    for unanswered in (judge("1.3", ...), judge("2.3", ...), judge("1.2", lambda _values: ...)):
        assert unanswered.right is None
        assert "three dots" in unanswered.says
    assert "at [1]" in judge("3.1", [1, 7]).says
    assert judge("3.1", (torch.tensor(1), 6.001)).right
    assert judge(3.1, [1, 6]).right  # type: ignore[arg-type] # a reader may leave out the quotes
    assert "Give numbers here" in judge("3.1", [1, "six"]).says
    with pytest.raises(UsageError, match=r"there is no exercise '1\.4'; there are 1\.1, 1\.2"):
        judge("1.4", 0)


def test_lessons_use_only_what_the_package_has() -> None:
    """They run where glassformer is installed, and nothing else."""
    known = {"torch", "glassformer", "copy", "math", "sklearn"}
    for lesson in lessons():
        for cell in lesson.cells():
            if cell.kind == "code":
                for node in ast.walk(ast.parse(cell.text)):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                        assert str(module).split(".")[0] in known, lesson.name
