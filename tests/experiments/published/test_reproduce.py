import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from glassformer.data import polarity
from glassformer.data.known import KNOWN
from glassformer.errors import GlassformerError, UsageError
from glassformer.experiments.published import systems
from glassformer.experiments.published.reproduce import choose, reproduce
from glassformer.experiments.published.system_run import SystemRun
from glassformer.experiments.published.systems import ENTRIES, SystemVariant, TableEntry, VariantName, quick
from glassformer.experiments.published.table import Reproduction, markdown, rows
from glassformer.training.initial_weights import read_initial_weights
from glassformer.training.loop import InterruptedTraining, StepReport
from glassformer.training.recipe import load_recipe

FAST = {
    "training.max_steps": 3,
    "model.max_seq_len": 20,
    "tokenizer.max_tokens": 19,
}
TOY = TableEntry(
    system="notes-decoder",
    data="polarity",
    reported="nothing",
    variants={
        "literal": SystemVariant(recipe="notes-decoder", seeds=2, overrides=FAST),
        "default": SystemVariant(recipe="quick", seeds=1, overrides={"training.max_steps": 3}),
    },
)


class Watching:
    """Remembers what it hears; may stop the run of a given number."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.lines: list[str] = []
        self.done: list[SystemRun] = []
        self.begun: list[tuple[VariantName, int]] = []
        self.steps = 0
        self._stop_at = stop_at

    def on_line(self, name: str, runs: int) -> None:
        self.lines.append(f"{name}: {runs}")

    def on_run(self, variant: VariantName, seed: int) -> Self:
        self.begun.append((variant, seed))
        return self

    def on_done(self, run: SystemRun) -> None:
        self.done.append(run)

    def on_step(self, _report: StepReport) -> None:
        self.steps += 1
        if self.steps == self._stop_at:
            raise InterruptedTraining()

    def on_epoch(self, row: dict[str, float]) -> None: ...

    def on_message(self, text: str) -> None: ...


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> list[TableEntry]:
    monkeypatch.setattr(systems, "ENTRIES", (TOY,))
    return [TOY]


@pytest.fixture(scope="module", autouse=True)
def _few_rows() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(polarity, "N_ROWS", {"train": 400, "test": 100})
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reproduction, Watching]:
    """The whole table: three runs."""
    folder, watcher = tmp_path_factory.mktemp("table") / "out", Watching()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(systems, "ENTRIES", (TOY,))
        return folder, reproduce([TOY], folder, first_look=False, watcher=watcher), watcher


@pytest.fixture
def out(finished: tuple[Path, Reproduction, Watching], tmp_path: Path) -> Path:
    """A copy of it, to go on with."""
    return shutil.copytree(finished[0], tmp_path / "copy")


def test_the_table_grows_and_what_is_done_is_not_run_again(
    finished: tuple[Path, Reproduction, Watching], out: Path, toy: list[TableEntry]
) -> None:
    _, found, first = finished
    assert first.lines == ["notes-decoder · polarity: 3"]
    assert first.begun == [("literal", 0), ("literal", 1), ("default", 0)]
    assert first.steps == 9
    literal = found.lines[0].cell("literal")
    assert literal is not None
    assert [run.seed for run in literal.runs] == [0, 1]
    assert all(0 <= run.accuracy.low <= run.accuracy.value <= run.accuracy.high <= 1 for run in literal.runs)
    assert found.lines[0].cell("corrected") is None

    again = Watching()
    second = reproduce(toy, out, first_look=False, watcher=again)
    assert again.steps == 0
    assert second.lines == found.lines
    assert Reproduction.model_validate_json((out / "results.json").read_text()) == second
    assert (out / "table.md").read_text() == markdown(rows(second.lines)) + "\n"


def test_a_stopped_table_goes_on_where_it_was(tmp_path: Path, toy: list[TableEntry]) -> None:
    with pytest.raises(InterruptedTraining):
        reproduce(toy, tmp_path, first_look=False, watcher=Watching(stop_at=5))
    rest = Watching()
    reproduce(toy, tmp_path, first_look=False, watcher=rest)
    assert len(rest.done) == 3
    assert rest.steps == 6  # the first run is kept; the second was stopped before it was saved, and begins anew


def test_each_run_leaves_a_model_folder_that_answers(out: Path) -> None:
    folders = sorted((out / "runs").iterdir())
    assert len(folders) == 3
    for folder in folders:
        assert json.loads((folder / "run.json").read_text())["data"] == "polarity"
        assert (folder / "model.safetensors").is_file()


def test_another_recipe_is_another_run(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    literal = SystemVariant(recipe="notes-decoder", seeds=2, overrides={**FAST, "training.learning_rate": 2e-3})
    changed = TableEntry(system="notes-decoder", data="polarity", reported="nothing", variants={"literal": literal})
    monkeypatch.setattr(systems, "ENTRIES", (changed,))
    second = Watching()
    reproduce([changed], out, first_look=False, watcher=second)
    assert second.steps == 6


def test_a_damaged_run_is_named(out: Path, toy: list[TableEntry]) -> None:
    file = next((out / "runs").glob("*/run.json"))
    file.write_text("{")
    with pytest.raises(GlassformerError, match=r"run\.json is damaged; remove it"):
        reproduce(toy, out, first_look=False, watcher=Watching())


def test_without_data_nothing_is_run(tmp_path: Path) -> None:
    zhou = choose(["bui-dang-rows"], None, first_look=False)
    with pytest.raises(UsageError, match="zhou is not on this machine: glassformer data get zhou"):
        reproduce(zhou, tmp_path, first_look=False, watcher=Watching(), data_dir=tmp_path)


def test_what_starts_from_weights_is_left_out_without_any_and_runs_with_them(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transfer = TableEntry(
        system="vinh-transfer",
        data="polarity",
        reported="nothing",
        variants={
            "literal": SystemVariant(
                recipe="fine-tune", seeds=1, overrides={"training.max_steps": 2}, from_weights=True
            )
        },
    )
    both = (TOY, transfer)
    monkeypatch.setattr(systems, "ENTRIES", both)
    found = reproduce(both, out, first_look=False, watcher=Watching())
    assert [line.system for line in found.lines] == ["notes-decoder"]
    assert "vinh-transfer starts from pre-trained weights" in found.left_out[0]

    folder = next(path for path in (out / "runs").iterdir() if path.name.startswith("quick"))
    weights = read_initial_weights(str(folder))
    found = reproduce([transfer], out, first_look=False, watcher=Watching(), init=weights)
    assert found.lines[0].cells[0].runs[0].init == weights.record


def test_what_lacks_data_is_left_out_and_said(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = (TOY, ENTRIES[0])
    monkeypatch.setattr(systems, "ENTRIES", both)
    found = reproduce(both, out, first_look=False, watcher=Watching(), data_dir=tmp_path)
    assert found.left_out == ("zhou is not on this machine: glassformer data get zhou",)
    assert [line.data for line in found.lines] == ["polarity"]


def test_choosing() -> None:
    assert choose([], None, first_look=False) == list(ENTRIES)
    assert {entry.system for entry in choose(["vinh-recurrent"], "imdb", first_look=False)} == {
        f"vinh-recurrent {cell}{way}" for cell in ("rnn", "gru", "lstm") for way in ("", " both ways")
    }
    assert all(entry.data != "imdb" for entry in choose([], None, first_look=True))
    with pytest.raises(UsageError, match=r"no system 'vinh-mpl'; choose from .* Did you mean 'vinh-mlp'\?"):
        choose(["vinh-mpl"], None, first_look=False)
    with pytest.raises(UsageError, match="`data='imbd'`: no system runs on it; choose one of zhou"):
        choose([], "imbd", first_look=False)
    with pytest.raises(UsageError, match="`data='imdb'`: bui-dang-rows does not run on it"):
        choose(["bui-dang-rows"], "imdb", first_look=False)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.system}-{entry.data}".replace(" ", "-"))
def test_every_recipe_of_the_table_loads(entry: TableEntry) -> None:
    assert entry.data in KNOWN
    for shown in (entry, quick(entry)):
        for variant in shown.variants.values():
            recipe = load_recipe(variant.recipe, overrides=variant.overrides)
            assert variant.seeds >= 1
            window = recipe.tokenizer.max_tokens
            assert window is None or window + 1 <= recipe.model.max_seq_len


def test_a_first_look_is_short() -> None:
    for entry in choose([], None, first_look=True):
        for variant in entry.variants.values():
            assert variant.seeds <= 3
            assert entry.quick_in_full or variant.overrides["training.max_steps"] <= 400
