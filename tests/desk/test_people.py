import pytest

from glassformer.desk.people import alpha


def test_alpha_of_a_published_example() -> None:
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, nominal: .743."""
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    units = [
        [label for label in unit if label != "."] for unit in zip(*(each.split() for each in observers), strict=True)
    ]
    assert alpha([unit for unit in units if len(unit) > 1]) == pytest.approx(0.743, abs=5e-4)


def test_alpha_at_its_ends() -> None:
    assert alpha([["a", "a"], ["b", "b"]]) == 1
    assert alpha([["a", "a"], ["a", "a"]]) is None
    assert alpha([["a", "b"], ["b", "a"]]) == pytest.approx(-0.5)
