"""`glassformer train --init OLD --add NEW.csv`."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.cli.terminal import QUICK, Outcome, glassformer, misused
from tests.test_house import ROOT
from tests.trained import NEGATIVE, POSITIVE, Trained, review_rows, write_csv

THIRD = "so-so"
COUNTING = ("--set", "training.epochs=0")


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [(f"middling {thing} {number}", THIRD) for number, thing in enumerate(["film", "book", "song"] * 14)]
    return write_csv(tmp_path_factory.mktemp("more") / "more.csv", [*rows, *review_rows(230)[:3]])


@pytest.fixture(scope="module")
def grown(reviews: Trained, more: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("grown") / "model"
    return folder, add(reviews, more, folder, "--replay", "0.5")


def add(reviews: Trained, more: Path, out: Path, *flags: object) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(reviews.table.parent)
        return glassformer("train", "--init", "model", "--add", more, "--out", out, *flags)


def test_a_new_label_is_learned_and_the_old_ones_are_kept(reviews: Trained, grown: tuple[Path, Outcome]) -> None:
    folder, said = grown
    assert said.code == 0, said.err
    assert "weights: model, the head too, grown by 1 label" in said.err
    assert "× learned before, in " in said.err
    assert f"new labels: '{THIRD}' (42)" in said.err
    assert "training anew on all rows was as accurate" in said.err
    assert f"{reviews.table.name}: validation: " in said.err
    config, before = (json.loads((each / "config.json").read_text()) for each in (folder, reviews.folder))
    assert config["target"]["labels"] == sorted([*before["target"]["labels"], THIRD])
    assert config["data"]["read_as"]["replay"] == 0.5
    assert config["data"]["validation_rows"] == before["data"]["validation_rows"] + 4
    assert (folder / "tokenizer.json").read_bytes() == (reviews.folder / "tokenizer.json").read_bytes()
    texts = ["good film 3", "bad song 4", "middling book 90"]
    answers = glassformer("predict", folder, *texts, "--json").document["answers"]
    assert [each["prediction"] for each in answers] == [POSITIVE, NEGATIVE, THIRD]
    metrics = json.loads((grown[0] / "metrics.json").read_text())
    assert "held_out_answers" in metrics
    assert "label_doubts" not in metrics, "row numbers would be those of two tables"


def test_its_rows_are_found_again(reviews: Trained, more: Path, grown: tuple[Path, Outcome], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(reviews.table.parent)
        found = glassformer("evaluate", grown[0], reviews.table, "--out", tmp_path / "e", "--json").document
        assert len(found["duel"]["baselines"]) == 2
        other = write_csv(tmp_path / "other.csv", [(f"nothing much {number}", "none") for number in range(20)])
        said = glassformer("train", "--init", grown[0], "--add", other, "--out", tmp_path / "m")
        assert said.code == 0, said.err
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["target"]["labels"] == sorted([POSITIVE, NEGATIVE, THIRD, "none"])
    assert config["data"]["read_as"]["added"] == [str(more), str(other)]


def test_the_rows_of_the_head_are_those_of_before(reviews: Trained, more: Path, tmp_path: Path) -> None:
    said = add(reviews, more, tmp_path / "m", "--set", "training.learning_rate=1e-30")
    assert said.code == 0, said.err
    old, new = (load_file(each / "model.safetensors") for each in (reviews.folder, tmp_path / "m"))
    name = next(name for name in old if name.startswith("head") and name.endswith("weight"))
    assert old[name].shape[0] + 1 == new[name].shape[0]
    labels = json.loads((tmp_path / "m" / "config.json").read_text())["target"]["labels"]
    kept = [
        labels.index(label) for label in json.loads((reviews.folder / "config.json").read_text())["target"]["labels"]
    ]
    assert (new[name][kept] - old[name]).abs().max() < 1e-6


def test_a_model_that_held_out_nothing_is_trained_anew(more: Path, tmp_path: Path) -> None:
    rows = write_csv(tmp_path / "few.csv", review_rows(40))
    assert glassformer("train", rows, "--out", tmp_path / "few", *QUICK, *COUNTING).code == 0
    said = glassformer("train", "--init", tmp_path / "few", "--add", more, "--out", tmp_path / "m")
    assert said.code == 0, said.err
    assert "held out no rows" in said.err
    assert "Training begins anew" in said.err
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["init"] is None
    part = glassformer("train", "--init", tmp_path / "few", "--add", more, "--replay", "0.5", "--out", tmp_path / "p")
    misused(part, "--replay 0.5", "held out no rows", "leave it out")
    assert config["model"] == json.loads((tmp_path / "few" / "config.json").read_text())["model"]


def test_a_new_label_takes_no_cost_of_asking_a_person(more: Path, tmp_path: Path) -> None:
    few = write_csv(tmp_path / "few.csv", review_rows(40))
    costs = ("--costs", "review=0.3", "--costs", f"{POSITIVE}=2")
    assert glassformer("train", few, "--out", tmp_path / "few", *QUICK, *COUNTING, *costs).code == 0
    new = write_csv(tmp_path / "new.csv", [(f"look at it {number}", "review") for number in range(12)])
    grow = ("train", "--init", tmp_path / "few", "--out", tmp_path / "m", "--add")
    misused(glassformer(*grow, new), "`review` asks a person, and is a label here; rename the label")
    assert not (tmp_path / "m").exists()
    assert glassformer(*grow, more).code == 0
    found = glassformer("costs", tmp_path / "m", "--json").document["costs"]
    assert {(row["truth"], row["answer"], row["cost"]) for row in found} == {(None, "review", 0.3), (POSITIVE, None, 2)}


def test_mistakes_of_the_flags(reviews: Trained, more: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "m")
    misused(glassformer("train", *out), "name a table to learn from")
    misused(glassformer("train", "--add", more, *out), "name the model to train further with --init")
    misused(glassformer("train", reviews.table, "--replay", "0.5", *out), "--replay 0.5", "--init and --add")
    misused(add(reviews, more, tmp_path / "m", "--text", "text", "--preset", "tiny"), "leave out --text and --preset")
    misused(add(reviews, more, tmp_path / "m", "--replay", "1.5"), "--replay 1.5", "a share from 0 to 1")
    misused(add(reviews, more, reviews.folder, "--overwrite"), "is the model of --init")
    misused(add(reviews, tmp_path / "none.csv", tmp_path / "m"), "none.csv")
    misused(glassformer("train", "--init", tmp_path / "none", "--add", more, *out), "no such model folder")
    misused(glassformer("train", "--init", "hf:a/b", "--add", more, *out), "a checkpoint without rows of its own")
    language_model = ROOT / "tests" / "frozen" / "0.1.0" / "language-model"
    misused(glassformer("train", "--init", language_model, "--add", more, *out), "is no classifier")
    assert not (tmp_path / "m").exists()


def test_word_vectors_are_continued_on_unlabelled_texts(
    reviews: Trained, more: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "u.txt").write_text("a zorblax film, not bad\na zorblax song, so bad\n")
    given = ("--unlabelled", tmp_path / "u.txt")
    unread = add(reviews, more, tmp_path / "m", *given, "--set", "model.body=none")
    misused(unread, "--unlabelled", "pre-training does not go with --init model")
    of_bodies = {"english": ("continued", ()), "own": ("own", ("--set", "model.body=own"))}
    for out, (origin, settings) in of_bodies.items():
        said = add(reviews, more, tmp_path / out, *given, *settings, "--epochs", "1")
        assert said.code == 0, said.err
        assert f"{tmp_path / 'u.txt'}: 2 lines\n" in said.err
        assert json.loads((tmp_path / out / "config.json").read_text())["data"]["body"]["unlabelled_texts"] == 2
        assert json.loads((tmp_path / out / "readers" / "body" / "words.json").read_text())["origin"] == origin
        assert "also read texts without labels" not in said.err
    (tmp_path / "again.csv").write_text(more.read_text().replace("1", "2"))
    monkeypatch.chdir(reviews.table.parent)
    asked = ("--init", tmp_path / "english", "--add", tmp_path / "again.csv", "--out", tmp_path / "w", "--epochs", "1")
    again = glassformer("train", *asked)
    assert again.code == 0
    assert (
        f"also read texts without labels, which are not read now. To read them: --unlabelled {tmp_path / 'u.txt'}"
        in again.err
    )


def test_mistakes_of_the_new_table(reviews: Trained, tmp_path: Path) -> None:
    out = tmp_path / "m"
    columns = write_csv(tmp_path / "columns.csv", [("2026-01-02", "2026-03-04")] * 9, header=("begun", "ended"))
    misused(add(reviews, columns, out), "has no columns", "which the model was trained with")
    misused(add(reviews, reviews.table, out), "no row is left to learn from")
    unlabelled = write_csv(tmp_path / "new.csv", [(f"a middling film {n}",) for n in range(9)], header=("text",))
    refusal = add(reviews, unlabelled, out)
    misused(refusal, "new.csv has no column 'label'", "learned its labels", "`glassformer predict` answers")
    assert "--label" not in refusal.err
    empty = write_csv(tmp_path / "empty.csv", [])
    misused(add(reviews, empty, out), "empty.csv")
    single = write_csv(tmp_path / "single.csv", [("a middling film", THIRD)])
    misused(add(reviews, single, out), "a single row", THIRD)
    assert not out.exists()


@pytest.mark.usefixtures("unsealed")
def test_models_that_no_rows_can_be_added_to(reviews: Trained, more: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(reviews.folder, tmp_path / "old")
    config = json.loads((folder / "config.json").read_text())

    def refused(*said: str, **data: object) -> None:
        (folder / "config.json").write_text(json.dumps(config | {"data": config["data"] | data}))
        misused(glassformer("train", "--init", folder, "--add", more, "--out", tmp_path / "m"), *said)

    gone = config["data"]["read_as"] | {"train": str(tmp_path / "gone.csv")}
    refused("gone.csv", "forgets the old ones", "Put the old table back", read_as=gone)
    other = config["data"]["read_as"] | {"train": str(more)}
    refused("changed since the model was trained", read_as=other)
    refused("rows in memory", read_as=None)
    refused("learned from another model", teacher={"rows": {"data": config["data"], "recipe": config["recipe"]}})


def test_numbers_and_ordered_classes_are_added(tmp_path: Path) -> None:
    rows = [
        (f"the {word} film {number}", str(grade))
        for number in range(80)
        for grade, word in enumerate(["bad", "fine", "good"])
    ]
    table = write_csv(tmp_path / "t.csv", rows, ("text", "grade"))
    more = write_csv(
        tmp_path / "more.csv", [(f"a superb film {number}", "3") for number in range(20)], ("text", "grade")
    )
    for task, flags in (("number", ()), ("ordered", ("--order", "0,1,2,3"))):
        named = ("--label", "grade", "--task", task, "--set", "model.counting=none", *QUICK)
        assert glassformer("train", table, "--out", tmp_path / task, *named).code == 0
        grown = ("--init", tmp_path / task, "--add", more, *flags, "--out", tmp_path / f"{task}2")
        said = glassformer("train", *grown)
        assert said.code == 0, said.err
        assert "the head too" in said.err
        config = json.loads((tmp_path / f"{task}2" / "config.json").read_text())
        assert config["data"]["rows"] + config["data"]["validation_rows"] == 260
        assert (config["target"].get("labels") or config["target"]["scale"]["highest"]) in (["0", "1", "2", "3"], 3)
    other = ("--init", tmp_path / "number", "--add", more, "--order", "0,1,2,3", "--out", tmp_path / "o")
    misused(glassformer("train", *other), "has learned no ordered classes; leave it out")
