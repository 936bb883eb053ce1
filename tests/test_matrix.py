"""Everything that can be done with a table is done for each kind of target and of inputs, or there is a reason."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from benchmarks.tables_matrix import matrix_table
from glassformer.data.sources import Task
from glassformer.experiments.search import rows as search_rows
from glassformer.exporting.export import FORMATS
from glassformer.prediction import on_ray
from glassformer.prediction.answering_config import AnyTarget
from tests.cli.terminal import commands
from tests.fits import few_steps
from tests.matrix.reasons import NO_TABLE, REFUSED, reason
from tests.matrix.samples import ALONE, INPUTS, TARGETS, Cell, RefusedError, let_both_answer, rows, write
from tests.matrix.things import THINGS_TO_DO
from tests.test_house import ROOT
from tests.trained import made_once

PAIRS = list(product(TARGETS, INPUTS))


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Cell]:
    """Trains the models of a pair when they are first needed, once for all processes of pytest."""

    @cache
    def models(target: str, inputs: str) -> Cell:
        with made_once(tmp_path_factory, f"matrix, {target}, {inputs}") as (folder, is_new):
            both, alone, table = folder / "both", folder / "alone", folder / "t.csv"
            cell = Cell(target=target, inputs=inputs, table=table, both=both, alone=alone, out=folder)
            if is_new:
                write(table, rows(target, inputs))
                cell.train(both, "--set", "model.body=english")
                let_both_answer(both)
                cell.train(alone, *ALONE, "--keep-texts", "--snapshots")
            return cell

    return models


@pytest.fixture(scope="module")
def one_ray() -> Iterator[Any]:
    """Ray, started once for all that is answered with it. Its processes work while they wait, so it ends here."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (on_ray._QUIET | on_ray._ON_THIS_MACHINE).items():
            patch.setenv(name, value)  # Ray reads them when it is imported
        with on_ray._connected(pytest.importorskip("ray"), None, 1):
            yield lambda *_: nullcontext()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """Readers, searches and the doctor take as few steps as they can. A search needs all its folds."""
    monkeypatch.setattr(search_rows, "FEW_ROWS", 50)
    with few_steps(n_folds=4 if "search" in request.node.name else 2):
        yield


def refused(cell: Cell, thing: str) -> str | None:
    """Try a cell of the matrix, and return why it was refused."""
    try:
        THINGS_TO_DO[thing].run(cell)
    except RefusedError as error:
        return str(error)
    return None


CELLS = [
    pytest.param(
        thing.name, *pair, marks=[pytest.mark.slow] if thing.slow else [], id=f"{thing.name}, {', '.join(pair)}"
    )
    for thing in THINGS_TO_DO.values()
    for pair in PAIRS
]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("thing", "target", "inputs"), CELLS)
def test_it_works_or_there_is_a_reason(
    thing: str,
    target: str,
    inputs: str,
    trained: Callable[[str, str], Cell],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    if "ray" in thing:
        monkeypatch.setattr(on_ray, "_connected", request.getfixturevalue("one_ray"))
    why = reason(thing, target, inputs)
    said = refused(replace(trained(target, inputs), out=tmp_path), thing)
    if why is None:
        assert said is None, f"refused, and no line of `tests/matrix/reasons.py` says why: {said}"
    else:
        assert said is not None, f"this works: delete its line in `tests/matrix/reasons.py` ({why})"


def test_each_kind_of_target_is_there() -> None:
    kinds = {kind.model_fields["kind"].default for kind in get_args(get_args(AnyTarget)[0])}
    assert kinds == set(TARGETS) == set(get_args(Task))


def test_each_command_and_each_export_is_tried() -> None:
    """A new command is added to `things.py`, or to those that no table is for."""
    tried = {thing.command for thing in THINGS_TO_DO.values()} - {None}
    assert tried | set(NO_TABLE) == {name for name, _ in commands()}
    assert not tried & set(NO_TABLE)
    assert {name.removeprefix("export ") for name in THINGS_TO_DO if name.startswith("export ")} == set(FORMATS)


def test_each_line_of_the_reasons_is_about_something() -> None:
    for refusal in REFUSED:
        assert set(refusal.things) <= set(THINGS_TO_DO), refusal
        assert {*refusal.targets} <= set(TARGETS), refusal
        assert {*refusal.inputs} <= set(INPUTS), refusal


def test_the_docs_have_the_matrix() -> None:
    page = (ROOT / "docs" / "reference" / "matrix.md").read_text(encoding="utf-8")
    assert "\n\n".join(matrix_table()) in page, "python -m benchmarks.tables writes it"
