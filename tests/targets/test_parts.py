"""What the kinds of answers add to the rooms, by name."""

import inspect

import pytest

import glassformer.targets.labels.training_card as of_labels
import glassformer.targets.number.training_card as of_a_number
from glassformer.targets.parts import folder_of, part, part_of
from glassformer.training.card import Said

ASKED = {
    "audit": ("alone", "losses", "prepared", "right", "strata", "truth"),
    "evaluation": (
        *("DOUBTED", "answered", "baselines", "explained", "in_words", "label_figures", "next_steps"),
        *("notes", "readers", "truth_of", "why_not_compared"),
    ),
    "evaluation_report": ("COLUMNS", "PLAIN", "figures", "leading", "plain_cells", "sentences", "shown"),
    "exporting": ("about", "changed", "compared", "in_pipelines", "line", "page", "said"),
    "tracing": ("SCORE", "outcome", "steps"),
    "training": ("doubts", "finish", "gain", "lessons", "prepare", "warn"),
    "training_card": (
        *("COLUMN", "DOUBTED", "KIND", "LIMITS", "answers", "figures", "in_short", "learned", "measured", "readers"),
    ),
}


@pytest.mark.parametrize(("room", "name"), [(room, name) for room, names in ASKED.items() for name in names])
def test_each_kind_of_answer_has_what_a_room_asks_for(room: str, name: str) -> None:
    labels, number = (getattr(part(folder, room), name) for folder in ("labels", "number"))
    assert type(labels) is type(number)
    if not name.isupper():
        of_both = [inspect.signature(each).parameters.values() for each in (labels, number)]
        needed = [sum(each.default is each.empty for each in of_one) for of_one in of_both]
        assert room == "training" or needed[0] == needed[1], "they are called alike"


def test_each_kind_of_answer_says_all_of_a_model() -> None:
    of_kinds: list[Said] = [of_labels, of_a_number]  # mypy compares them
    assert [each.COLUMN for each in of_kinds] == ["label", "number"]
    assert [part(folder, "training_card") for folder in ("labels", "number")] == of_kinds


def test_a_task_names_a_folder() -> None:
    folders = [folder_of(kind) for kind in ("classes", "ordered", "several", None, "number")]
    assert folders == [*["labels"] * 4, "number"]
    assert part_of("number", "audit") is part("number", "audit")
    assert part("labels", "doctor").__name__ == "Bench", "the part of a file that names one"
