import pytest

from glassformer.desk.labelling import labelling_of
from glassformer.desk.people import Differences, alpha, kappa
from glassformer.errors import UsageError


def differences(task: str, *classes: str) -> Differences:
    return lambda totals: labelling_of({"task": task}).difference(totals, classes)


NOMINAL = differences("classes")
OBSERVERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]


@pytest.mark.parametrize(
    ("task", "value"), [("classes", 0.743), ("several", 0.743), ("ordered", 0.815), ("number", 0.849)]
)
def test_alpha_of_a_published_example(task: str, value: float) -> None:
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: nominal, ordinal, interval data."""
    units = [
        [label for label in unit if label != "."] for unit in zip(*(each.split() for each in OBSERVERS), strict=True)
    ]
    difference = differences(task, *"12345")
    assert alpha([unit for unit in units if len(unit) > 1], difference) == pytest.approx(value, abs=5e-4)


def test_alpha_at_its_ends() -> None:
    assert alpha([["a", "a"], ["b", "b"]], NOMINAL) == 1
    assert alpha([["a", "a"], ["a", "a"]], NOMINAL) is None
    assert alpha([["a", "b"], ["b", "a"]], NOMINAL) == pytest.approx(-0.5)


def test_kappa_of_a_worked_example() -> None:
    both = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert kappa(both, NOMINAL) == pytest.approx(0.4), "agreement 0.7, by chance 0.5"
    assert kappa([("yes", "yes")] * 3, NOMINAL) is None
    assert kappa([("1", "1"), ("2", "3")], differences("number")) == pytest.approx(1 - 0.5 / 1.5)


def test_labels_of_each_kind_are_kept_alike() -> None:
    several, number = (labelling_of({"task": task}) for task in ("several", "number"))
    assert several.cell(" b|a|b ") == "a|b"
    assert several.cell("") == ""
    assert list(several.classes_of("")) == []
    assert several.moved("a|b", "c", None) == "a|b|c"
    assert several.moved("a|b", "c", "a") == "b|c"
    assert [number.cell(given) for given in ("3,5", "1.0", "-2", "1 200")] == ["3.5", "1", "-2", "1200"]
    with pytest.raises(UsageError, match="'many' is not a number; type one"):
        number.cell("many")
    assert number.figure([("3", "2")]).short == "off by 1 (1 text: too few to tell)"
    assert number.figure([("3", "2"), ("3", "4"), ("3", "3")]).said.startswith("off by 0.6667 on average on 3 texts")
