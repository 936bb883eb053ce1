"""What the committed results must keep saying about the published systems."""

import math
import statistics

import pytest

from benchmarks.experiment import RESULTS
from benchmarks.tables_common import Document
from benchmarks.tables_reproduce import read_results

# (mean, sample deviation, seeds) of training and test accuracy in a rebuild from the documents' text that shares no
# code with ours; a seed ends far from its neighbours, so only mean and spread can agree.
REBUILT = {
    "bui-dang-rows": ((0.754, 0.182, 25), (0.700, 0.211, 25)),
    "bui-dang-columns": ((0.808, 0.136, 20), (0.780, 0.141, 20)),
}


def runs_of(system: str, variant: str) -> list[Document]:
    runs: list[Document] = read_results(RESULTS / "reproduce")[f"{system}-zhou"]["cells"][variant]["runs"]
    return runs


def accuracies(runs: list[Document]) -> list[float]:
    return [run["accuracy"]["value"] for run in runs]


def assert_agree(ours: list[float], theirs: tuple[float, float, int]) -> None:
    """Means within 2.6 standard errors of their difference (p > .01), deviations within a factor of two (F test)."""
    mean, deviation, seeds = theirs
    own = statistics.stdev(ours)
    error = math.sqrt(own**2 / len(ours) + deviation**2 / seeds)
    assert abs(statistics.mean(ours) - mean) < 2.6 * error
    assert 0.5 < own / deviation < 2


@pytest.mark.parametrize("system", REBUILT)
def test_the_literal_systems_agree_with_an_independent_rebuild(system: str) -> None:
    literal = runs_of(system, "literal")
    assert [run["seed"] for run in literal] == list(range(25))
    training, test = REBUILT[system]
    assert_agree([run["training_accuracy"] for run in literal], training)
    assert_agree(accuracies(literal), test)


@pytest.mark.parametrize("system", REBUILT)
def test_one_standard_block_solves_what_they_were_built_for(system: str) -> None:
    corrected = accuracies(runs_of(system, "corrected"))
    assert len(corrected) >= 10
    assert statistics.mean(corrected) >= 0.98
