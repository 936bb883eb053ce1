"""Labels with levels: `train`, and all that follows."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.terminal import OF_FEW_ROWS, glassformer, misused
from tests.fits import few_steps
from tests.trained import Trained, write_csv

PATHS = {
    "food > fruit > apple": ("red", "juicy"),
    "food > fruit > lime": ("green", "juicy"),
    "food > fruit > plum": ("blue", "juicy"),
    "food > bread": ("crusty", "baked"),
    "drink > tea": ("hot", "leafy"),
    "drink > beer": ("cold", "foamy"),
}


def rows(count: int = 60) -> list[tuple[str, str]]:
    """Of a juicy thing, three labels are as likely."""
    paths = list(PATHS)
    return [(f"{PATHS[paths[n % 6]][n // 6 % 2]} thing {n}", paths[n % 6]) for n in range(count)]


@pytest.fixture(scope="module")
@few_steps()
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("shelf")
    table = write_csv(folder / "t.csv", rows())
    outcome = glassformer("train", table, "--out", folder / "model", *OF_FEW_ROWS, "--set", "training.epochs=0")
    return Trained(folder=folder / "model", table=table, outcome=outcome)


def test_levels_are_found_and_learned(shelf: Trained) -> None:
    assert shelf.outcome.code == 0, shelf.outcome.err
    assert "task: classes with levels (column 'label' holds paths with ' > ' in between)" in shelf.outcome.err
    assert "--task classes takes each cell as a class without levels" in shelf.outcome.err
    target = json.loads((shelf.folder / "config.json").read_text())["target"]
    assert (target["kind"], target["levels"], set(target["labels"])) == ("classes", " > ", set(PATHS))


def test_an_answer_is_a_path_that_ends_where_the_model_is_not_sure(shelf: Trained, tmp_path: Path) -> None:
    said = glassformer("predict", shelf.folder, "red thing", "juicy thing", " ", "--json")
    apple, fruit, empty = said.document["answers"]
    assert list(apple)[1:5] == ["prediction", "path", "path_probability", "confidence"]
    assert apple["prediction"] == apple["path"] == "food > fruit > apple"
    assert apple["path_probability"] == apple["confidence"] >= 0.5
    assert (empty["path"], empty["path_probability"]) == (None, None)
    both = [prob for path, prob in fruit["probabilities"].items() if path.startswith("food > fruit")]
    assert fruit["confidence"] < 0.5 <= sum(both)
    assert (fruit["path"], fruit["path_probability"]) == ("food > fruit", pytest.approx(sum(both), abs=1e-5))
    plain = glassformer("predict", shelf.folder, "juicy thing", " ")
    assert plain.out.splitlines()[0].split("\t")[1] == f"sure: food > fruit {fruit['path_probability']:.3f}"
    assert plain.out.splitlines()[1].split("\t")[:3] == ["(no text)", "", ""]
    assert "the path ends at the last level that is more likely right than wrong" in plain.err
    table = write_csv(tmp_path / "new.csv", [("juicy thing",), ("",), ("red thing",)], ("text",))
    assert glassformer("predict", shelf.folder, "--file", table, "--out", tmp_path / "a.csv").code == 0
    answers = pl.read_csv(tmp_path / "a.csv")
    assert answers.columns[1:5] == ["prediction", "path", "path_probability", "confidence"]
    assert answers["path"].to_list() == ["food > fruit", None, "food > fruit > apple"]
    assert answers["path_probability"][0] == pytest.approx(fruit["path_probability"], abs=1e-5)


def test_evaluate_measures_each_level(shelf: Trained) -> None:
    said = glassformer("evaluate", shelf.folder, shelf.table)
    assert "Accuracy by level: level 1 " in said.out
    levels = json.loads((shelf.folder / "evaluation" / "metrics.json").read_text())["levels"]
    assert levels["separator"] == " > "
    assert [each["nodes"] for each in levels["contestants"][-1]["levels"]] == [2, 4, 3]
    assert [each["rows"] for each in levels["contestants"][-1]["levels"]] == [60, 60, 30]
    assert sum(each["rows"] for each in levels["ends"]) == 60
    report = (shelf.folder / "evaluation" / "report.html").read_text()
    assert '<section id="levels"><h2>Levels</h2>' in report
    assert "the path ends at" in report


@pytest.mark.parametrize("made", ["export", "distil"])
def test_what_is_made_of_the_model_answers_with_the_same_path(shelf: Trained, tmp_path: Path, made: str) -> None:
    how = {
        "export": ("export", shelf.folder, "--out", tmp_path / "m", "--format", "onnx"),
        "distil": (
            "distil",
            shelf.folder,
            shelf.table,
            "--into",
            "tiny",
            "--out",
            tmp_path / "m",
            "--set",
            "training.max_steps=2",
        ),
    }
    assert glassformer(*how[made]).code == 0
    target = json.loads((tmp_path / "m" / "config.json").read_text())["target"]
    assert target["levels"] == " > "
    ours, theirs = (
        glassformer("predict", folder, "juicy thing", "--json").document["answers"][0]
        for folder in (shelf.folder, tmp_path / "m")
    )
    assert theirs.keys() >= {"path", "path_probability"}
    if made == "export":
        assert (theirs["path"], theirs["path_probability"]) == (ours["path"], ours["path_probability"])


def test_levels_may_be_columns(tmp_path: Path) -> None:
    cells = [(text, *[*path.split(" > "), ""][:3]) for text, path in rows()]
    table = write_csv(tmp_path / "t.csv", cells, ("text", "aisle", "kind", "item"))
    columns = ("--label", "aisle", "--label", "kind", "--label", "item")
    flags = (*columns, *OF_FEW_ROWS, "--set", "training.epochs=0")
    with few_steps():
        said = glassformer("train", table, "--out", tmp_path / "m", *flags)
    assert said.code == 0, said.err
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert (config["target"]["levels"], set(config["target"]["labels"])) == (" > ", set(PATHS))
    assert glassformer("evaluate", tmp_path / "m", table).code == 0
    found = json.loads((tmp_path / "m" / "evaluation" / "metrics.json").read_text())
    assert found["levels"]["contestants"][-1]["levels"][2]["rows"] == 30
    assert found["slices"]["columns"] == []  # its own levels would say what is wrong
    whole = write_csv(tmp_path / "whole.csv", rows(), ("text", "path"))
    assert glassformer("evaluate", tmp_path / "m", whole, "--label", "path").code == 0
    misused(
        glassformer("train", table, "--out", tmp_path / "n", *columns[:2], "--label", "kid"), "Did you mean 'kind'?"
    )
    misused(
        glassformer("train", table, "--out", tmp_path / "n", *columns[:2], *columns[:2]),
        "--label names the column 'aisle' twice",
    )


def test_labels_reads_and_writes_levels_in_columns(tmp_path: Path) -> None:
    cells = [(text, *[*path.split(" > "), ""][:3]) for text, path in rows()]
    cells[7] = (cells[7][0], "drink", "tea", "")
    table = write_csv(tmp_path / "t.csv", cells, ("text", "aisle", "kind", "item"))
    columns = ("--label", "aisle", "--label", "kind", "--label", "item")
    said = glassformer("labels", table, *columns)
    assert "row 8, drink > tea → food > fruit > " in said.out
    assert f"labels {table} --label aisle --label kind --label item --apply" in said.err
    found = pl.read_csv(tmp_path / "t-to-check.csv", infer_schema=False)
    assert (found["row"][0], found["label"][0]) == ("8", "drink > tea")
    new = pl.when(pl.col("row") == "8").then(pl.lit("food > fruit > lime")).alias("new_label")
    found.with_columns(new).write_csv(tmp_path / "filled.csv")
    said = glassformer("labels", table, *columns, "--apply", tmp_path / "filled.csv")
    assert "60 rows; 1 with another label than before, 0 left out" in said.out
    mended = tmp_path / "t-mended.csv"
    was, now = (pl.read_csv(file, infer_schema=False).fill_null("").rows() for file in (table, mended))
    assert now[7] == (cells[7][0], "food", "fruit", "lime")
    assert [*now[:7], *now[8:]] == [*was[:7], *was[8:]]

    more = write_csv(tmp_path / "more.csv", [(f"leafy new thing {n}",) for n in range(9)], ("text",))
    said = glassformer("labels", mended, *columns, "--next", "2", more)
    assert "2 rows. Fill in the columns 'aisle', 'kind', 'item'" in said.out
    to_label = pl.read_csv(tmp_path / "more-to-label.csv", infer_schema=False)
    assert to_label.columns == ["row", "text", "aisle", "kind", "item", "suggested_label", "probability"]
    drinks = to_label.with_columns(aisle=pl.lit("drink"), kind=pl.Series(["tea", "bear"]))
    drinks.write_csv(tmp_path / "more-to-label.csv")
    add = ("labels", mended, *columns, "--apply", tmp_path / "more-to-label.csv", "--out", tmp_path / "all.csv")
    misused(glassformer(*add), "row 2: 'drink > bear' is not a label of", "Did you mean 'drink > beer'?")
    drinks.with_columns(kind=pl.lit("tea")).write_csv(tmp_path / "more-to-label.csv")
    assert "62 rows; 2 of them new" in glassformer(*add).out
    assert pl.read_csv(tmp_path / "all.csv").rows()[60:] == [(text, "drink", "tea", None) for text in drinks["text"]]


def test_each_cell_may_be_a_class_all_the_same(shelf: Trained, tmp_path: Path) -> None:
    flags = ("--task", "classes", *OF_FEW_ROWS, "--set", "training.epochs=0")
    with few_steps():
        assert glassformer("train", shelf.table, "--out", tmp_path / "m", *flags).code == 0
    assert "levels" not in json.loads((tmp_path / "m" / "config.json").read_text())["target"]
    (answer,) = glassformer("predict", tmp_path / "m", "juicy thing", "--json").document["answers"]
    assert "path" not in answer


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--levels", "::"), ["no label holds '::', for example 'drink > beer'", "leave out --levels ::"]),
        (("--levels", " > ", "--multilabel", ";"), ["--levels ' > ' is for classes, one for each text"]),
        (("--levels", " > ", "--task", "ordered"), ["is for classes"]),
        (("--levels", ""), ["--levels is empty", "--levels ' > '"]),
    ],
)
def test_bad_flags(flags: tuple[str, ...], words: list[str], shelf: Trained, tmp_path: Path) -> None:
    misused(glassformer("train", shelf.table, "--out", tmp_path / "m", *flags), *words)
