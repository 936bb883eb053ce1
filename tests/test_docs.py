"""The README and the docs: their tables are those of the committed results; what the pages on systems name exists."""

import ast
import json
import re
import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import tables_common
from benchmarks.experiment import RESULTS as ALL_RESULTS
from benchmarks.experiment import ROOT
from benchmarks.reproduce import result
from benchmarks.tables import kinds, stale_pages
from benchmarks.tables_reproduce import NOT_YET, name_of, read_results, reproduced
from glassformer.evaluation.record import Estimate, Machine
from glassformer.experiments.published.system_run import SystemRun
from glassformer.experiments.published.systems import ENTRIES, SYSTEMS, VariantName
from glassformer.experiments.published.table import Cell, Line, Reproduction
from glassformer.training.recipe import PretrainingRecipe, shipped_recipes

PAGES, RESULTS = ROOT / "docs" / "how-it-works" / "systems", ALL_RESULTS / "reproduce"
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("*.md"))}
BLOCKS = {page: re.findall(r"<!-- results: (\S+) -->", text) for page, text in TEXTS.items()}
SHOWN = [name for blocks in BLOCKS.values() for block in blocks for name in block.split("+")]
BLOCK = "# A page\n\n<!-- results: {} -->\nold\n<!-- end -->\n\nmore\n"


def fill(text: str, found: dict[str, Reproduction]) -> str:
    lines = {name: result(each) for name, each in found.items()}
    return tables_common.fill(text, {"results": lambda name: reproduced(name, lines)})


def a_run(seed: int, accuracy: float, epochs: Sequence[dict[str, float]], **changes: object) -> SystemRun:
    fields = {
        "recipe_name": "vinh-mlp",
        "data": "imdb",
        "seed": seed,
        "accuracy": Estimate(value=accuracy, low=accuracy - 0.02, high=accuracy + 0.03),
        "macro_f1": 0.5,
        "weighted_f1": 0.61,
        "training_accuracy": None,
        "parameters": 652_802,
        "training_rows": 22_500,
        "validation_rows": 2_500,
        "test_rows": 25_000,
        "test_sha256": "a",
        "training_sha256": "b",
        "best_epoch": 1,
        "history": tuple(epochs),
        "training_seconds": 75.2,
        "evaluation_seconds": 2.5,
        "evaluation_texts_per_second": 10_000.0,
        "recipe": {},
        "threads": 3,
        "versions": {"torch": "2.13.0", "commit": "0123456789abcdef", "processor": "Abacus 7"},
        "created": "2026-01-01",
    }
    return SystemRun.model_validate(fields | changes)


def a_result(system: str, data: str, runs: dict[VariantName, list[SystemRun]], **changes: object) -> Reproduction:
    cells = tuple(Cell(variant=variant, runs=tuple(of_it)) for variant, of_it in runs.items())
    fields = {
        "quick": False,
        "lines": (Line(system=system, data=data, reported=".99, one run", cells=cells),),
        "left_out": (),
        "machine": Machine(architecture="abc", system="Linux", cores=5, python="3.12.4"),
        "command": "python -m benchmarks.reproduce vinh-mlp",
        "created": "2026-01-02",
    }
    return Reproduction.model_validate(fields | changes)


EPOCHS = (
    {"epoch": 1.0, "train_loss": 0.5, "validation_loss": 0.4, "validation_accuracy": 0.75},
    {"epoch": 2.0, "train_loss": 0.3, "validation_loss": 0.6, "validation_accuracy": 0.7},
)
MLP = a_result(
    "vinh-mlp",
    "imdb",
    {"literal": [a_run(0, 0.8, EPOCHS), a_run(1, 0.9, EPOCHS)], "default": [a_run(0, 0.7, EPOCHS)]},
)


def test_pages_are_what_the_script_writes() -> None:
    """The README's table, those of the docs, and the charts."""
    assert not [page.name for page in stale_pages()], "run python -m benchmarks.tables"


def test_the_docs_show_every_result_that_accuracy_wrote() -> None:
    files = {file.stem for file in ALL_RESULTS.glob("*.json") if re.search(r"benchmarks.accuracy", file.read_text())}
    (shown,) = re.findall(r"<!-- measured: (\S+) -->", (ROOT / "docs/how-it-works/results.md").read_text("utf-8"))
    assert set(shown.split("+")) == files


def test_a_row_of_measured_accuracies_of_each_kind(tmp_path: Path) -> None:
    """Over seeds that differ, that agree, over folds, and of one run."""

    def row(name: str, values: list[float], arguments: str) -> str:
        run = {"rows": 1_234, "seed": 3, "accuracy": {"value": 0.5, "low": 0.25, "high": 0.75}}
        mean, spread = statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0
        found = {
            "accuracy": {"mean": mean, "stdev": spread, "min": min(values), "max": max(values)},
            "baselines": {"TF-IDF + logistic regression": {"accuracy": {"mean": 0.8125}}},
            "training_seconds": {"mean": 20.4},
            "runs": [run] * len(values),
            "command": f"python -m benchmarks.accuracy films {arguments}",
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
        (table,) = kinds(tmp_path)["measured"](name)
        return table.splitlines()[-1]

    assert row("a", [0.5, 0.75], "--seeds 2") == (
        "| `films`, 1,234 | .625 ± .177 over 2 seeds | .812 | 20 s | `python -m benchmarks.accuracy films --seeds 2` |"
    )
    assert "| 1.000 in each of 3 seeds |" in row("b", [1.0] * 3, "--seeds 3")
    assert row("c", [0.5, 0.75], "--folds 2").startswith("| `films`, 2 folds | .625 ± .177 over 2 folds |")
    assert "| .500 (95% interval .250 – .750), seed 3 |" in row("d", [0.5], "")


def test_attacks_are_shown_by_family_with_their_sum(tmp_path: Path) -> None:
    (before,) = kinds(tmp_path)["attacks"]("attacks")
    assert before == "Not measured yet."
    counts = {
        "recipes": {"tried": 5, "answered_well": 4, "lost": 1},
        "rewards": {"tried": 7, "answered_well": 7, "lost": 0, "mended": 2},
    }
    (tmp_path / "attacks.json").write_text(json.dumps(counts), encoding="utf-8")
    (table,) = kinds(tmp_path)["attacks"]("attacks")
    lines = table.splitlines()
    assert lines[2] == "| recipes | Settings too large for any machine, and invalid values | 5 | 4 | 1 |  |"
    assert lines[-1] == "| all |  | 12 | 11 | 1 | 2 |"


def test_every_family_of_attacks_says_what_it_tries() -> None:
    for file in (ROOT / "tests" / "attacks").glob("test_*.py"):
        assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), file.name


def test_every_line_and_every_result_is_shown_on_one_page() -> None:
    lines = [name_of(entry) for entry in ENTRIES]
    assert sorted(SHOWN) == sorted(["all", *lines])
    assert {file.stem for file in RESULTS.glob("*.json")} <= set(lines)
    for entry in ENTRIES:
        assert name_of(entry) in "+".join(BLOCKS[f"{entry.system.split()[0]}.md"]).split("+")


def test_every_page_is_linked_from_the_index_and_links_lead_somewhere() -> None:
    assert {f"{system}.md" for system in SYSTEMS} < set(TEXTS)
    for name in TEXTS:
        assert name == "index.md" or f"]({name})" in TEXTS["index.md"], name
    for name, text in TEXTS.items():
        for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", text):
            assert (PAGES / target).exists(), f"{name} links to {target}"


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_page_names_exists(name: str) -> None:
    tests = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    for test in re.findall(r"`(test_\w+)`", TEXTS[name]):
        assert re.search(rf"def {test}\(", tests), test
    for path in re.findall(r"`((?:tests|src|recipes|benchmarks)/[\w/-]+\.\w+)`", TEXTS[name]):
        assert (ROOT / path).exists(), path
    for recipe in re.findall(r"--recipe ([\w-]+)", TEXTS[name]):
        assert recipe in {*shipped_recipes(), *shipped_recipes(PretrainingRecipe)}, recipe
    for asked in re.findall(r"^    glassformer reproduce((?: [a-z][\w-]*)+)", TEXTS[name], re.MULTILINE):
        assert set(asked.split()) <= set(SYSTEMS), asked


def test_a_line_is_written_with_what_it_stands_on() -> None:
    text = fill(BLOCK.format("vinh-mlp-imdb"), {"vinh-mlp-imdb": MLP})
    assert text.startswith(
        "# A page\n\n<!-- results: vinh-mlp-imdb -->\n| reported | literal | corrected | our default |\n"
    )
    assert "| .99, one run | .850 ± .071 (2 seeds) | – | .700 [.680, .730] |" in text
    assert "- literal: recipe `vinh-mlp`, seeds 0–1, accuracies .800–.900, 22,500 rows in " in text
    assert (
        "- 25,000 test rows of `imdb`; 5 cores (Abacus 7), 3 threads; `python -m benchmarks.reproduce vinh-mlp`" in text
    )
    assert text.endswith("\n<!-- end -->\n\nmore\n")
    assert fill(text, {"vinh-mlp-imdb": MLP}) == text


def test_lines_side_by_side_say_once_what_they_share() -> None:
    text = fill(BLOCK.format("vinh-mlp-imdb+other"), {"vinh-mlp-imdb": MLP, "other": MLP})
    assert "| system | literal | runs |" in text
    assert text.count("| vinh-mlp | .850 ± .071 (2 seeds) |  |") == 2
    assert text.count("- literal: recipe `vinh-mlp`, seeds 0–1, accuracies .800–.900, 22,500 rows in ") == 1
    assert text.count("- our default: .700 [.680, .730]") == text.count("- 25,000 test rows of `imdb`") == 1
    slower = a_result("vinh-mlp", "imdb", {"literal": [a_run(seed, 0.6, EPOCHS) for seed in (0, 1)]})
    text = fill(BLOCK.format("vinh-mlp-imdb+other"), {"vinh-mlp-imdb": MLP, "other": slower})
    assert "| vinh-mlp | .600 ± .000 (2 seeds) | accuracies .600–.600 |" in text
    assert "- literal: recipe `vinh-mlp`, seeds 0–1, 22,500 rows in " in text


def test_forms_of_a_system_are_one_row_of_all() -> None:
    lines = {
        f"vinh-recurrent-{cell}-imdb": a_result(
            f"vinh-recurrent {cell}", "imdb", {"literal": [a_run(0, value, EPOCHS)]}
        )
        for cell, value in {"rnn": 0.6, "rnn-both-ways": 0.7, "gru": 0.8, "gru-both-ways": 0.8, "lstm": 0.8}.items()
    }
    lines["vinh-recurrent-lstm-both-ways-imdb"] = lines["vinh-recurrent-gru-imdb"]
    row = "| [vinh-recurrent](vinh-recurrent.md) | imdb | .99, one run | .600 to .800 (6 forms) | – | – |"
    assert row in fill(BLOCK.format("all"), lines)


def test_weights_to_start_from_are_named() -> None:
    tuned = a_run(0, 0.9, EPOCHS, init={"from": "hf:owner/name", "fingerprint": "c"})
    found = {"vinh-transfer-imdb": a_result("vinh-transfer", "imdb", {"literal": [tuned]})}
    assert "seed 0, from the weights `hf:owner/name`, 22,500" in fill(BLOCK.format("vinh-transfer-imdb"), found)


def test_training_accuracy_is_shown_where_it_was_measured() -> None:
    changes = {"training_accuracy": 0.93, "validation_rows": 0}
    run = a_run(0, 0.9, [{"epoch": 201.0, "train_loss": 0.2}], data="zhou", **changes)
    zhou = a_result("bui-dang-rows", "zhou", {"literal": [run]})
    text = fill(BLOCK.format("bui-dang-rows-zhou"), {"bui-dang-rows-zhou": zhou})
    assert "training accuracy .930" in text


def test_what_is_missing_is_said() -> None:
    assert f"-->\nThis line is {NOT_YET}.\n<!-- end -->" in fill(BLOCK.format("vinh-mlp-imdb"), {})
    whole = fill(BLOCK.format("all"), {"vinh-mlp-imdb": MLP})
    assert "| [vinh-mlp](vinh-mlp.md) | imdb | .99, one run | .850 ± .071 (2 seeds) | – | .700 [" in whole
    assert f"| [vinh-mlp](vinh-mlp.md) | disaster-tweets | none | {NOT_YET} | – | {NOT_YET} |" in whole
    with pytest.raises(ValueError, match="no line is named 'vinh-mpl-imdb'"):
        fill(BLOCK.format("vinh-mpl-imdb"), {})


def test_no_committed_line_is_of_a_first_look_or_misnamed() -> None:
    lines = {name_of(entry): (entry.system, entry.data) for entry in ENTRIES}
    for name, found in read_results(RESULTS).items():
        assert not found["quick"], name
        assert (found["system"], found["data"]) == lines[name]
