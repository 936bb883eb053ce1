import json
from pathlib import Path

import pytest

from glassformer.cli.search import _show
from glassformer.data.wording import counted
from glassformer.experiments.keeper import read_kept
from glassformer.experiments.search import halving, rows
from glassformer.experiments.search.result import SearchResult
from glassformer.experiments.search.trial import run_trial
from tests.cli.terminal import Outcome, glassformer, misused
from tests.trained import POSITIVE, review_rows, write_csv

TINY = (
    "--set", "model.d_model=16", "--set", "model.n_layers=1", "--set", "model.n_heads=2", "--set", "model.d_ff=24",
    "--set", "model.max_seq_len=16", "--set", "model.counting=none", "--set", "training.epochs=1",
    "--set", "training.min_steps_per_epoch=2", "--set", "training.batch_size=64",
)  # fmt: skip
N_FOLDS = 4  # a search holds three of them out
OVER = ("--over", "dropout=.1,.3")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("reviews") / "reviews.csv", review_rows(84))


@pytest.fixture(autouse=True)
def one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_ROWS", 50)


def search(table: Path, out: Path, *more: object) -> Outcome:
    return glassformer("search", table, "--minutes", 5, "--out", out, *TINY, *(more or OVER))


def test_a_table_a_verdict_and_the_next_command(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = search(table, tmp_path / "s")
    assert said.code == 0, said.err
    assert said.out.startswith(f"{table}: 2 trials in ")
    assert "17 rows were held out from the search" in said.out.splitlines()[0]
    assert "the recipe as it is" in said.out
    assert f"page: {tmp_path / 's' / 'search.html'}" in said.out
    assert "label column: 'label' (by its name)" in said.err
    assert "17 of 84 rows are held out from the search" in said.err
    assert "rung 1, 2 candidates: a third of the steps, part 1 of the rows" in said.err
    assert "note: 17 held-out rows show only large differences" in said.err
    monkeypatch.chdir(tmp_path)
    (following,) = (line.removeprefix("train: ") for line in said.out.splitlines() if line.startswith("train: "))
    assert following.startswith(f"glassformer train {table} --out runs/reviews ")
    assert glassformer(*following.split()[1:]).code == 0
    trained = glassformer("train", table, "--out", "again", "--recipe", tmp_path / "s" / "recipe.toml")
    assert trained.code == 0, trained.err
    found = read_kept(tmp_path / "s" / "search.json", SearchResult)
    assert found is not None
    dropped = found.trials[-1].model_copy(update={"loss": None, "dropped": "rung 1: loss 0.6931, place 9 of 12"})
    capsys.readouterr()
    _show(found.model_copy(update={"trials": (*found.trials, *[dropped] * 9)}))
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition("  ")[2] for line in lines[2:6]] == ["dropped after", "–", "–", dropped.dropped]
    assert "and 3 more, on the page" in lines


def test_json_is_what_is_written_and_quiet_is_quiet(table: Path, tmp_path: Path) -> None:
    said = search(table, tmp_path / "s", *OVER, "--json", "--quiet")
    assert (said.code, said.err) == (0, "")
    written = json.loads((tmp_path / "s" / "search.json").read_text())
    assert said.document | {"train": ""} == written | {"train": ""}
    assert written["command"].startswith("glassformer search ")
    misused(search(table, tmp_path / "s"), "holds a finished search", "--overwrite")


def test_stopped_it_says_how_to_go_on(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def stopping(*arguments: object, **named: object) -> object:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run_trial(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(halving, "run_trial", stopping)
    stopped = search(table, tmp_path / "s")
    assert stopped.code == 130
    assert stopped.out == ""
    assert (
        f"stopped; the unfinished search is saved in {tmp_path / 's'}. Continue it with:\n  glassformer search"
        in stopped.err
    )
    assert "--resume" in stopped.err
    misused(search(table, tmp_path / "s"), "holds an unfinished search; --resume continues it")
    monkeypatch.setattr(halving, "run_trial", run_trial)
    linked = tmp_path / "s" / "trials" / "readers-1"
    linked.symlink_to(tmp_path)
    misused(search(table, tmp_path / "s", *OVER, "--resume"), "readers-1 is a link")
    linked.unlink()
    assert search(table, tmp_path / "s", *OVER, "--resume").code == 0


def test_columns_and_groups_are_named_in_the_next_command(tmp_path: Path) -> None:
    lines = [(text, label, f"a{number % 9}") for number, (text, label) in enumerate(review_rows(90))]
    table = write_csv(tmp_path / "r.csv", lines, ("said", "stars", "author"))
    columns = ("--text", "said", "--label", "stars")
    said = search(table, tmp_path / "s", *OVER, *columns, "--group", "author", "--json")
    assert said.code == 0, said.err
    assert " --text said --label stars" in said.document["train"]
    assert all(figure["p"] is None for figure in said.document["figures"])
    groups = said.document["data"]["unseen_groups"]
    assert 1 <= groups < 9
    said_of = f"({counted(groups, 'group')}), so intervals may count fewer rows; of so few groups they are too narrow"
    assert f"note: rows of a group are alike {said_of}" in said.err
    assert "author" in said.document["train"] or "recipe.toml" in said.document["train"]


def test_ordered_classes(tmp_path: Path) -> None:
    lines = [(f"{text} {'so ' * (number % 3)}", str(number % 3)) for number, (text, _) in enumerate(review_rows(90))]
    said = search(write_csv(tmp_path / "r.csv", lines), tmp_path / "s", *OVER, "--task", "ordered", "--json")
    assert said.code == 0, said.err
    assert all(trial["loss"] is not None for trial in said.document["trials"])
    assert " --task ordered" in said.document["train"]


def test_two_texts_and_a_column_beside_them(tmp_path: Path) -> None:
    lines = [
        (text, f"why {number}", label, f"shop{number % 3}") for number, (text, label) in enumerate(review_rows(90))
    ]
    table = write_csv(tmp_path / "r.csv", lines, ("title", "body", "stars", "shop"))
    inputs = ("--text", "title", "--text", "body", "--columns", "shop", "--label", "stars")
    said = search(table, tmp_path / "s", *OVER, *inputs, "--json")
    assert said.code == 0, said.err
    assert " --text title --text body --columns shop --label stars" in said.document["train"]
    assert "the texts 'title' and 'body' and the column 'shop'" in said.document["data"]["inputs"]
    misused(search(table, tmp_path / "t", *OVER, "--text", "title", "--columns", "shp", "--label", "stars"), "shp")


def test_validation_rows_of_the_user(table: Path, tmp_path: Path) -> None:
    own = write_csv(tmp_path / "own.csv", [(f"{text} again", label) for text, label in review_rows(30)])
    said = search(table, tmp_path / "s", *OVER, "--validation", own, "--json")
    assert said.code == 0, said.err
    assert said.document["data"]["rated_on"] == str(own)
    assert said.document["data"]["unseen_rows"] == 17


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--over", "dropot=0,.1"), "did you mean model.dropout?"),
        (("--over", "dropout=.1"), "--over dropout=.1: a search needs at least two values"),
        (("--over", "d_model=16,32"), "model.d_model is both set and searched"),
        (("--over", "training.seed=1,2"), "cannot be varied"),
        (("--minutes", 0), "--minutes 0"),
        (("--minutes", "soon"), "Invalid value for '--minutes': 'soon': it must be a number"),
        (("--text", "words"), "words"),
        (("--task", "number"), "no column holds numbers"),
        (("--resume",), "holds no unfinished search"),
        (("--set", "model.counting=all"), "model.counting"),
    ],
)
def test_misuse_is_said_before_anything_is_trained(
    table: Path, tmp_path: Path, more: tuple[object, ...], words: str
) -> None:
    said = search(table, tmp_path / "s", *more)
    assert said.code == 2
    assert said.out == ""
    assert words in said.err
    assert not (tmp_path / "s").exists()


def test_settings_are_checked_before_the_table_is_read(table: Path, tmp_path: Path) -> None:
    said = search(table, tmp_path / "s", "--over", "dropot=0,.1")
    misused(said, "unknown key model.dropot (did you mean model.dropout?)")
    assert "label column" not in said.err


def test_without_minutes_it_asks_for_them(table: Path) -> None:
    said = glassformer("search", table)
    assert said.code == 2
    assert "--minutes" in said.err


def test_a_table_that_is_too_small_and_a_file_for_a_folder(table: Path, tmp_path: Path) -> None:
    small = write_csv(tmp_path / "small.csv", review_rows(30))
    misused(search(small, tmp_path / "s"), "30 rows to learn from, and a search needs at least 60")
    misused(search(table, small), "small.csv is a file; name a folder")
    one = write_csv(tmp_path / "one.csv", [(f"text {number}", POSITIVE) for number in range(70)])
    misused(search(one, tmp_path / "s"), "needs at least two classes")
