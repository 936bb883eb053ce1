import json
from pathlib import Path

import pytest

from glassformer.training.run import train_model
from tests.cli.terminal import Outcome, failed, glassformer, misused
from tests.trained import review_rows, write_csv

TINY = (
    "--preset", "tiny", "--set", "model.d_model=16", "--set", "model.d_ff=24", "--set", "model.max_seq_len=16",
    "--set", "training.batch_size=16", "--vary", "norm=rms,layer",
)  # fmt: skip
SHORT = ("--seeds", 2, "--steps", 3)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("reviews") / "reviews.csv", review_rows(84))


def compare(table: Path, out: Path, *more: object) -> Outcome:
    return glassformer("compare-variants", table, *TINY, "--out", out, *more)


def test_a_table_on_standard_output_and_the_rest_on_standard_error(table: Path, tmp_path: Path) -> None:
    said = compare(table, tmp_path / "out", *SHORT)
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == f"{table}: measured on a random fifth of the rows, different for each seed, 17 per run"
    assert lines[2].split() == [
        "variant", "accuracy", "95%", "interval", "spread", "behind", "p", "parameters", "seconds", "tokens/s",
    ]  # fmt: skip
    assert sorted(line.split()[0] for line in lines[3:5]) == ["layer", "rms"]
    assert any(line.startswith("norm: ") for line in lines)
    assert "label column: 'label' (by its name)" in said.err
    assert "2 variants × 2 seeds, 3 steps each: 4 runs; about " in said.err
    assert "4/4 layer, seed 1: accuracy " in said.err
    assert "note: 2 seeds show only large differences" in said.err
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    assert document["command"].startswith("glassformer compare-variants ")
    assert (tmp_path / "out" / "report.html").is_file()


def test_json_is_what_is_written_and_a_second_time_is_only_reading(table: Path, tmp_path: Path) -> None:
    first = compare(table, tmp_path, *SHORT, "--json")
    assert first.document == json.loads((tmp_path / "results.json").read_text())
    again = compare(table, tmp_path, *SHORT, "--json")
    assert "4 runs, 4 of them kept from before\n" in again.err
    assert again.document["variants"] == first.document["variants"]


def test_another_plan_in_the_same_folder_says_which_report_it_replaces(table: Path, tmp_path: Path) -> None:
    replaces = f"note: this replaces the report on norm (rms, layer) on {table}, 2 seeds, 3 steps, whose runs are kept"
    assert compare(table, tmp_path, *SHORT).code == 0
    assert "replaces" not in compare(table, tmp_path, *SHORT).err
    more = compare(table, tmp_path, "--seeds", 3, "--steps", 3)
    assert "replaces" not in more.err
    fewer = compare(table, tmp_path, *SHORT)
    assert f"{replaces.replace('2 seeds', '3 seeds')}; another --out keeps both" in fewer.err
    assert replaces in compare(table, tmp_path, *SHORT, "--set", "model.dropout=0.2").err
    (tmp_path / "results.json").write_text("{")
    assert "replaces" not in compare(table, tmp_path, *SHORT).err


def test_a_file_for_a_folder_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    misused(compare(tmp_path / "file", tmp_path / "file"), "file is a file; name a folder")


def test_stopped_it_says_how_to_go_on(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trains, calls = "glassformer.experiments.variants.variant_run.train_model", []

    def stopping(*arguments: object, **named: object) -> object:
        calls.append(1)
        if len(calls) == 5:  # two short ones for the estimate come first
            raise KeyboardInterrupt
        return train_model(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(trains, stopping)
    stopped = compare(table, tmp_path, *SHORT)
    assert stopped.code == 130
    assert stopped.out == ""
    assert (
        f"stopped; 2 finished runs are kept in {tmp_path}. Continue with:\n  glassformer compare-variants"
        in stopped.err
    )
    monkeypatch.setattr(trains, train_model)
    assert "4 runs, 2 of them kept from before; about " in compare(table, tmp_path, *SHORT).err


def test_measured_on_another_table_with_seconds_as_the_budget(table: Path, tmp_path: Path) -> None:
    test = write_csv(tmp_path / "test.csv", [(f"{text} again", label) for text, label in review_rows(21)])
    said = compare(table, tmp_path / "out", "--seeds", 2, "--seconds", 0.05, "--test", test, "--json")
    assert said.code == 0, said.err
    assert said.document["data"]["measured_rows"] == 21
    assert said.document["budget"] == "0.05 s"
    assert all(run["steps"] >= 1 for run in said.document["runs"])
    assert f"note: if you choose a variant by its figures on {test}, measure" in said.err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--vary", "positons=none,rotary"), ("unknown key model.positons", "model.positions")),
        (("--vary", "positions=none"), ("at least two values",)),
        (("--seeds", 1), ("--seeds 1",)),
        (("--steps", 3, "--seconds", 2), ("give one of them",)),
        (("--set", "model.norm=rms"), ("norm is both set and varied",)),
        (("--text", "words"), ("words",)),
    ],
)
def test_misuse_is_said_before_anything_is_trained(
    table: Path, tmp_path: Path, more: tuple[object, ...], words: tuple[str, ...]
) -> None:
    misused(compare(table, tmp_path / "out", *more), *words)
    assert not list((tmp_path / "out" / "runs").glob("*"))


def test_an_out_that_is_taken(table: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear reader")
    misused(compare(table, tmp_path, *SHORT), "other files in it")


def test_a_damaged_run_fails_with_its_name(table: Path, tmp_path: Path) -> None:
    assert compare(table, tmp_path, *SHORT).code == 0
    file = next((tmp_path / "runs").iterdir())
    file.write_text("{")
    failed(compare(table, tmp_path, *SHORT), file.name, "is damaged")


def test_rows_of_two_texts_and_ordered_classes(tmp_path: Path) -> None:
    rows = [
        (f"is film {row} good", f"{('fine', 'poor', 'so so')[row % 3]} film", f"shop {row % 2}", str(3 - row % 3))
        for row in range(60)
    ]
    table = write_csv(tmp_path / "pairs.csv", rows, ("question", "answer", "shop", "stars"))
    test = write_csv(tmp_path / "test.csv", rows[:12], ("question", "answer", "shop", "stars"))
    how = ("--text", "question", "--text", "answer", "--columns", "shop", "--target", "stars", "--test", test)
    said = compare(table, tmp_path / "out", *how, *SHORT, "--set", "model.head=ordered")
    assert said.code == 0, said.err
    assert "task: ordered classes" in said.err
    assert f"{table}: measured on {test}, the same rows for all, 12 per run" in said.out
    one = ("--preset", "tiny", "--vary", "embedding=learned,one-hot", "--out", tmp_path / "one")
    misused(
        glassformer("compare-variants", table, *how, *one, *SHORT),
        "one-hot cannot be built: recipe: model: embedding='one-hot' has no room",
        "; vary",
    )
