import json
import random
import re
import shlex
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
import torch

from glassformer.data import mapped
from tests.cli.terminal import OF_FEW_ROWS, QUICK, ctrl_c, failed, glassformer, misused, plain
from tests.trained import NEGATIVE, POSITIVE, Trained, review_rows, write_csv

FILES = {
    "README.md", "config.json", "counting.json", "counting.safetensors", "metrics.json", "model.safetensors",
    "report.html", "seen.safetensors", "SHA256SUMS", "tokenizer.json",
}  # fmt: skip
COUNTING = (*QUICK[:2], *QUICK[-2:], "--epochs", "0")

ACCURACY = r"validation accuracy [01]\.\d{4} \(95% interval 0\.\d{4} to [01]\.\d{4}\)"


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_it_says_what_it_took_and_leaves_a_model_folder(reviews: Trained) -> None:
    said = reviews.outcome
    assert said.code == 0
    assert re.fullmatch(rf"model: {ACCURACY}, by counting and the body alone, trained in .* s\n", said.out)
    for words in (
        "'text' (by its name)",
        "'label' (by its name)",
        "23 of 230 rows held out",
        "2 labels: ",
        "epoch 1: loss",
    ):
        assert words in said.err
    assert re.search(r"model: [\d,]+ parameters \(1 block of width 64", said.err)
    assert "next: glassformer predict model" in said.err
    assert names_in(reviews.folder) >= FILES


def test_texts_in_mapped_files_give_the_same_model(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert glassformer("train", reviews.table, "--out", tmp_path / "in memory", *QUICK).code == 0
    monkeypatch.setattr(mapped, "_BYTES_AT_ONCE", 2_000)  # as few rows are large then
    before = next(mapped._KEYS)
    assert glassformer("train", reviews.table, "--out", tmp_path / "mapped", *QUICK).code == 0
    assert next(mapped._KEYS) > before + 6, "the rows, or those of a split, lie in memory"
    changed = {"config.json", "metrics.json", "report.html", "README.md", "SHA256SUMS"}  # which name times and folders
    first, second = (
        {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*.*") if file.name not in changed}
        for folder in (tmp_path / "in memory", tmp_path / "mapped")
    )
    assert len(first) > 5
    assert first == second


def test_the_result_names_the_epoch_of_a_transformer_that_answers(reviews: Trained, tmp_path: Path) -> None:
    said = glassformer("train", reviews.table, "--out", tmp_path / "m", *QUICK, "--set", "model.counting=none")
    assert " in epoch 1 of 1, the one with the lowest calibrated loss, trained in " in said.out


def test_without_epochs_the_model_counts(reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What imports PyTorch's compiler, which takes as long as the rest of the run.
    monkeypatch.setattr(torch.optim.Optimizer, "__init__", Mock(side_effect=AssertionError("an optimizer was made")))
    said = glassformer("train", reviews.table, "--out", tmp_path / "m", *COUNTING)
    assert said.code == 0, said.err
    assert re.fullmatch(rf".*m: {ACCURACY}, by counting and the body alone, trained in .* s\n", said.out)
    assert "No transformer was trained, so the model answers by counting and the body" in said.err
    assert "epoch 1" not in said.err
    assert glassformer("predict", tmp_path / "m", "good film").code == 0
    measured = glassformer("evaluate", tmp_path / "m", reviews.table).out
    assert "The transformer is not used: no held-out rows showed a sure gain." in measured


def test_json_is_one_document(reviews: Trained, tmp_path: Path) -> None:
    said = glassformer("train", reviews.table, "--out", tmp_path / "m", "--json", *QUICK)
    assert said.code == 0
    document = said.document
    assert document["model"] == str(tmp_path / "m")
    assert document["labels"] == [NEGATIVE, POSITIVE]
    assert document["best"] == document["history"][0]
    assert document["readers"]["held_out_rows"] == 23
    assert (document["data"]["rows"], document["data"]["validation_rows"]) == (207, 23)


def test_one_label_that_a_text_has_or_not_is_one_label(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [("good film", "pos"), ("bad film", "")] * 9)
    said = glassformer("train", table, "--multilabel", ";", "--out", tmp_path / "m", *QUICK)
    assert "  1 label: 'pos' 9\n" in said.err


def test_few_rows_are_said_to_be_read_several_times(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", review_rows(20))
    few = glassformer("train", table, "--out", tmp_path / "few", *OF_FEW_ROWS, "--set", "training.batch_size=10")
    said = "few rows: an epoch reads each row 3 times, to have at least 5 steps (training.min_steps_per_epoch)"
    assert few.err.count(said) == 1
    enough = glassformer("train", table, "--out", tmp_path / "enough", *OF_FEW_ROWS, "--set", "training.batch_size=4")
    assert "few rows" not in enough.err
    settings = ("training.epochs=3", "training.enough_steps=4", "training.batch_size=10")
    flags = [flag for setting in settings for flag in ("--set", setting)]
    many = glassformer("train", table, "--out", tmp_path / "many", *OF_FEW_ROWS, *flags)
    assert "  many rows: 1 epoch in place of" in many.err
    assert "many rows" not in few.err + enough.err


def test_settings_come_from_recipe_preset_and_flags(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", review_rows(20))
    flags = ("--recipe", "quick", "--seed", 7, "--set", "model.pooling=max", "--device", "cpu")
    assert glassformer("train", table, "--out", tmp_path / "m", *flags, *OF_FEW_ROWS).code == 0
    recipe = json.loads((tmp_path / "m" / "config.json").read_text())["recipe"]
    assert (recipe["training"]["seed"], recipe["training"]["epochs"], recipe["model"]["pooling"]) == (7, 1, "max")


def test_rows_left_out_are_counted_and_listed(tmp_path: Path) -> None:
    rows = [*review_rows(30), ("  ", POSITIVE), ("", NEGATIVE), ("no label", "")]
    table = write_csv(tmp_path / "t.csv", rows)
    said = glassformer("train", table, "--out", tmp_path / "m", *QUICK)
    assert "left out: 2 × empty text (rows 31 and 32)" in said.err
    assert "left out: 1 × no label (row 33)" in said.err
    figure = re.search(
        r"cross-validated (accuracy [01]\.\d{4} \(95% interval 0\.\d{4} to [01]\.\d{4}), 2 folds\)", said.out
    )
    assert figure is not None
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert (
        f"In cross-validation with 2 folds of the training rows: {figure[1]}). `glassformer evaluate` measures it on"
        in card
    )
    assert "a little less" not in card, "these models learned fewer rows than that of the folder"


def test_the_card_says_what_goes_with_the_vectors_of_english(reviews: Trained) -> None:
    card = (reviews.folder / "README.md").read_text(encoding="utf-8")
    assert (
        "of the body `english`. Give the `SOURCES.tsv` of this body away with the model: it names the authors" in card
    )


def test_rows_without_a_label_are_read_without_it(tmp_path: Path) -> None:
    rows = [*review_rows(30), *((text, "") for text, _ in review_rows(60)[30:])]
    table, test = write_csv(tmp_path / "t.csv", rows), write_csv(tmp_path / "test.csv", review_rows(40)[30:])
    flags = ("--test", test, "--set", "model.body=english")
    said = glassformer("train", table, "--out", tmp_path / "m", *QUICK, *flags)
    assert said.code == 0, said.err
    assert (
        "30 of 60 rows have no label: their texts are read as unlabelled texts, and "
        f"`glassformer labels {table} --next 50 {table}` chooses which to label next"
    ) in said.err
    assert "10 unlabelled texts are also test texts and were left out" in said.err
    body = json.loads((tmp_path / "m" / "config.json").read_text())["data"]["body"]
    assert (body["unlabelled_texts"], body["unlabelled"]) == (20, [str(table)])
    measured = glassformer("evaluate", tmp_path / "m", table)
    assert "left out: 30 × no label" in measured.err


def test_texts_of_the_test_table_are_kept_out_of_training(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", review_rows(40))
    test = write_csv(tmp_path / "test.csv", review_rows(40)[:6])
    said = glassformer("train", table, "--test", test, "--validation", test, "--out", tmp_path / "m", *QUICK)
    assert said.code == 2  # every row of validation is in the test table
    said = glassformer("train", table, "--test", test, "--out", tmp_path / "m", "--json", *QUICK)
    assert said.document["data"]["rows"] == 34
    assert "6 × duplicate of a test text" in said.err


def test_group_and_validation_table(tmp_path: Path) -> None:
    rows = [(text, label, f"author {number % 12}") for number, (text, label) in enumerate(review_rows(220))]
    table = write_csv(tmp_path / "t.csv", rows, ("words", "verdict", "author"))
    valid = write_csv(tmp_path / "valid.csv", [("good thing", POSITIVE), ("bad thing", NEGATIVE)], ("words", "verdict"))
    columns = ("--text", "words", "--label", "verdict")
    said = glassformer("train", table, "--out", tmp_path / "g", *columns, "--group", "author", "--json", *COUNTING)
    assert said.code == 0, said.err
    assert 0 < said.document["data"]["validation_rows"] < 110
    said = glassformer("train", table, "--out", tmp_path / "v", *columns, "--validation", valid, "--json", *COUNTING)
    assert said.document["data"]["validation_rows"] == 2


def test_the_latest_rows_are_held_out(tmp_path: Path) -> None:
    rows = [
        (text, label, f"{number % 28 + 1:02d}/{number // 28 + 1:02d}/2024")
        for number, (text, label) in enumerate(review_rows(220))
    ]
    table = write_csv(tmp_path / "t.csv", rows, ("text", "label", "created"))
    said = glassformer("train", table, "--out", tmp_path / "m", "--time", "created", *COUNTING)
    assert said.code == 0, said.err
    assert (
        "validation: 22 of 220 rows held out, the latest: trained on rows until 2024-08-02, tested on rows after, "
        "until 2024-08-24\n  22 rows are too few to tell how the later rows differ from the earlier ones"
    ) in said.err
    assert "22 rows are too few" in (tmp_path / "m" / "report.html").read_text()
    measured = glassformer("evaluate", tmp_path / "m", table)
    assert "220 of 220 measured texts were also in training" in measured.err, "the same rows are found again"
    more = write_csv(tmp_path / "more.csv", rows[:9], ("text", "label", "created"))
    add = glassformer("train", "--init", tmp_path / "m", "--add", more, "--out", tmp_path / "n")
    misused(add, "holds out the latest rows, and new rows may be later")
    random = glassformer("train", table, "--out", tmp_path / "r", *COUNTING)
    assert "rows have dates (column 'created')" in random.err
    assert "--time created measures it" in random.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty"]),
        (b"text,label\n", ["no rows"]),
        (b"text,label\na,x\nb,x\n", ["every row has the label 'x'", "two classes"]),
        (b"text,label\na,x\nb,y\nc,x\n", ["'y' (row 2)", "at least two rows"]),
        (b"text,label\na,x\nb,y,z\n", ["row 3 of the file", "3 fields", "header has 2"]),
        (b"text,label\nol\xc3\xa9,x\ncaf\xe9,x\n", ["line 3", "0xe9", "mixes encodings"]),
        (b"text,label\n ,x\n,y\n", ["no usable row", "empty text"]),
        (b"one two,three four\n1,2\n3,4\n", ["--text"]),
        (b"a bad film,neg\na good film,pos\na dull film,neg\n", ["header"]),
    ],
)
def test_a_table_that_cannot_be_learned_from(content: bytes, words: list[str], tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_bytes(content)
    misused(glassformer("train", table, "--out", tmp_path / "model"), str(table), *words)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--text", "txt"], ["no column 'txt' (--text)", "Did you mean 'text'?"]),
        (["--label", "nope"], ["no column 'nope' (--label)"]),
        (["--group", "nope"], ["no column 'nope' (--group)"]),
        (["--time", "nope"], ["no column 'nope' (--time)"]),
        (["--label", "label", "--time", "label"], ["'label' cannot be both --label and --time"]),
        (["--time", "a", "--group", "b"], ["validation.time = 'a' holds out the latest rows", "leave one out"]),
        (["--time", "a", "--validation", __file__], ["no validation.file"]),
        (["--preset", "huge"], ["'huge'", "tiny, small, base"]),
        (["--recipe", "defalt"], ["did you mean 'default'?"]),
        (["--set", "training.learningrate=1"], ["did you mean training.learning_rate?"]),
        (["--set", "trainig.epochs=1"], ["did you mean [training]?"]),
        (["--set", "training.epochs"], ["key=value"]),
        (["--set", "epochs=3"], ["training.epochs"]),
        (["--set", "training.epochs=many"], ["training.epochs", "'many'", "whole number"]),
        (["--set", "model.n_heads=7"], ["d_model=128", "n_heads=7"]),
        (["--validation", "nosuch.csv"], ["No such file", "nosuch.csv"]),
        (["--test", "nosuch.csv"], ["No such file", "nosuch.csv"]),
        (["--device", "abacus"], ["--device abacus", "cpu"]),
        (["--resume"], ["no unfinished run"]),
    ],
)
def test_a_request_that_cannot_be_met(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    table = write_csv(tmp_path / "table.csv", review_rows(20))
    misused(glassformer("train", table, "--out", tmp_path / "model", *arguments), *words)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("tabel.csv", ["No such file", "table.csv"]),
        ("polarty", ["Did you mean 'polarity'?"]),
        ("imdb", ["data get imdb"]),
    ],
)
def test_a_source_that_is_not_there(source: str, words: list[str], tmp_path: Path) -> None:
    write_csv(tmp_path / "table.csv", review_rows(20))
    named = tmp_path / source if source.endswith(".csv") else source
    misused(glassformer("train", named, "--out", tmp_path / "model", "--data-dir", tmp_path), *words)


def test_the_live_view_fits_a_terminal(reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    said = glassformer("train", reviews.table, "--out", tmp_path / "m", *QUICK)
    frames = [line for line in plain(said.err).splitlines() if "left  " in line]
    assert frames
    for frame in frames:
        assert re.match(r"epoch 1/1 [━╸╺ ]+ +\d+% loss [\d.]+  accuracy \d+%  .+ left", frame)
        assert len(frame) <= 80
    assert "epoch 1: loss" in said.err


def test_an_earlier_run_is_not_lost(reviews: Trained, tmp_path: Path) -> None:
    before = (reviews.folder / "model.safetensors").read_bytes()
    misused(glassformer("train", reviews.table, "--out", reviews.folder), "already holds a model", "--overwrite")
    misused(glassformer("train", reviews.table, "--out", reviews.folder, "--resume"), "is finished")
    assert (reviews.folder / "model.safetensors").read_bytes() == before
    misused(glassformer("train", reviews.table, "--out", reviews.table), "is a file")
    (tmp_path / "letters").write_text("mine")
    misused(glassformer("train", reviews.table, "--out", tmp_path), "other files")


def test_overwrite_replaces_a_model(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", review_rows(20))
    assert glassformer("train", table, "--out", tmp_path / "m", *OF_FEW_ROWS).code == 0
    before = (tmp_path / "m" / "model.safetensors").read_bytes()
    assert glassformer("train", table, "--out", tmp_path / "m", "--overwrite", "--seed", 5, *OF_FEW_ROWS).code == 0
    assert (tmp_path / "m" / "model.safetensors").read_bytes() != before


def test_a_diverging_run_fails_with_the_cause(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", review_rows(20))
    flags = ("--set", "training.learning_rate=1000", "--set", "training.weight_decay=1000", "--preset", "tiny")
    failed(glassformer("train", table, "--out", tmp_path / "m", *flags), "NaN or infinite", "learning_rate")


def test_ctrl_c_before_the_first_step_promises_what_was_finished(reviews: Trained, tmp_path: Path) -> None:
    out = tmp_path / "m"
    with patch("glassformer.training.run.plan_time", side_effect=KeyboardInterrupt):
        said = glassformer("train", reviews.table, "--out", out, *QUICK)
    assert said.code == 130
    assert f"stopped; what was finished is saved in {out}. Continue it with:" in said.err
    assert glassformer("train", reviews.table, "--out", out, *QUICK, "--resume").code == 0


def test_ctrl_c_says_how_to_resume_and_the_result_is_the_same(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "my reviews.csv", review_rows(230))
    flags = [*QUICK[:2], *QUICK[4:], "--epochs", "3"]
    arguments = ["train", str(table), "--out", str(tmp_path / "stopped"), "--multilabel", "|", *flags]
    with ctrl_c(step=12):  # in the second epoch of seven steps
        outcome = glassformer(*arguments, "--overwrite")
    assert (outcome.code, outcome.out) == (130, "")
    command = shlex.split(outcome.err.splitlines()[-1])
    assert command == ["glassformer", *arguments, "--resume"]
    folder = tmp_path / "stopped"
    misused(glassformer(*arguments), "unfinished run", "--resume", "--overwrite")
    misused(glassformer(*command[1:], "--seed", 4), "training.seed was 0 and is now 4")
    failed(glassformer("predict", folder, "x"), "not a model folder", code=2)
    assert glassformer(*command[1:]).code == 0
    assert names_in(folder) == FILES | {"readers"}
    arguments[3] = str(tmp_path / "whole")
    assert glassformer(*arguments).code == 0
    assert (folder / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()
    history = [json.loads((tmp_path / name / "metrics.json").read_text())["history"] for name in ("stopped", "whole")]
    for row in (*history[0], *history[1]):
        del row["seconds"]
    assert history[0] == history[1]


def test_a_column_of_dates_is_warned_of(tmp_path: Path) -> None:
    rows = [(f"film {number}", f"0{1 + number % 5}/0{1 + number % 7}/2024", f"A{number}") for number in range(240)]
    table = write_csv(tmp_path / "t.csv", rows, header=("text", "day", "ticket"))
    dates = glassformer("train", table, "--label", "day", "--out", tmp_path / "a", *COUNTING).err
    assert "warning: the label column 'day' holds dates: 35 classes in 240 rows. Such columns are rarely" in dates
    copied = [(text, day, "odd" if day[1] in "13579" else "even") for text, day, _ in rows]
    table = write_csv(tmp_path / "fine.csv", copied, header=("text", "day", "kind"))
    fine = glassformer("train", table, "--out", tmp_path / "b", *COUNTING).err
    assert "warning: the label column" not in fine
    assert "warning: the text column" not in fine
    said = glassformer("train", table, "--text", "day", "--label", "kind", "--out", tmp_path / "c", *COUNTING).err
    assert "warning: the text column 'day' holds dates, which say little as texts; --text names another one\n" in said


def test_a_label_column_of_distinct_values_is_warned_of_by_doctor(tmp_path: Path) -> None:
    rows = [(f"film {number}", f"number {'x' * number}") for number in range(60)] + [("film again", "number x")]
    said = glassformer("doctor", write_csv(tmp_path / "t.csv", rows, header=("text", "what")), "--label", "what")
    assert "warning: the label column 'what' has a different value in nearly every row: 60 classes in 61" in said.err


def test_a_run_that_learned_nothing_is_warned_of(tmp_path: Path) -> None:
    rows = [(f"film {number}", ("yes", "yes", "no")[number % 3]) for number in range(240)]
    said = glassformer("train", write_csv(tmp_path / "t.csv", rows), "--out", tmp_path / "m", *QUICK).err
    assert re.search(
        r"warning: the validation accuracy of 0\.\d+ is not above that of always answering 'yes', 0.6", said
    )


def test_a_run_that_learned_nothing_of_unequal_classes_is_told_so(tmp_path: Path) -> None:
    rare = random.Random(1).sample(range(240), 12)
    rows = [(f"film {number}", "no" if number in rare else "yes") for number in range(240)]
    said = glassformer("train", write_csv(tmp_path / "t.csv", rows), "--out", tmp_path / "m", *COUNTING).err
    assert re.search(r"0\.9\d+: with classes this unequal, accuracy says little", said)
    assert "--set training.class_weights=balanced, if it is not set" in said


def test_a_run_that_learned_is_not_warned_of(reviews: Trained) -> None:
    assert "is not above" not in reviews.outcome.err


def test_snapshots_leave_a_page_and_say_where(reviews: Trained, tmp_path: Path) -> None:
    said = glassformer("train", reviews.table, "--out", tmp_path / "m", *QUICK, "--snapshots")
    page = tmp_path / "m" / "snapshots" / "time-lapse.html"
    assert page.is_file()
    assert f"to watch it learn, open {page}; the page shows some of your texts" in said.err
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == (reviews.folder / "model.safetensors").read_bytes()


def test_snapshots_of_no_transformer_are_refused(reviews: Trained, tmp_path: Path) -> None:
    said = glassformer("train", reviews.table, "--out", tmp_path / "m", "--epochs", 0, "--snapshots")
    misused(said, "--snapshots shows a transformer while it learns", "and --epochs 0 trains none")
    assert not (tmp_path / "m").exists()


def test_a_design_without_vectors_keeps_no_texts(tmp_path: Path, reviews: Trained) -> None:
    said = glassformer(
        "train", reviews.table, "--out", tmp_path / "m", "--set", "model.design=vinh-mlp", "--keep-texts"
    )
    misused(said, "the design VinhMLP makes no vector of a text")
    assert not (tmp_path / "m").exists()
