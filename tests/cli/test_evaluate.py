import html
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from scipy.special import log_softmax

from glassformer import TextClassifier
from glassformer.data import polarity
from glassformer.prediction.model_folder import save_model
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.target import labels_of
from tests.cli.terminal import OF_FEW_ROWS, QUICK, glassformer, misused
from tests.trained import NEGATIVE, POSITIVE, Trained, review_rows, write_csv

UNSEEN_ROWS = [("good new film", POSITIVE), ("dull new song", NEGATIVE), ("great new plot", POSITIVE)] * 5
READERS = ("counting", "transformer")
BASELINES = ["the majority class", "TF-IDF + logistic regression"]


@pytest.fixture(autouse=True)
def beside_the_training_table(reviews: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model remembers its training table by a relative path."""
    monkeypatch.chdir(reviews.table.parent)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "test.csv", UNSEEN_ROWS)


def test_the_duel_on_the_terminal_and_the_report(reviews: Trained, table: Path) -> None:
    said = glassformer("evaluate", reviews.folder, table)
    assert said.code == 0
    assert re.search(r"the model +\d\.\d{4}  \d\.\d{4} to \d\.\d{4} ", said.out)
    for words in (*BASELINES, "the model", "95% interval", "calibration error", f"{table}: 15 texts"):
        assert words in said.out
    assert "training the baselines on all 230 rows that the model saw" in said.err
    report = (reviews.folder / "evaluation" / "report.html").read_text(encoding="utf-8")
    assert report.startswith("<!doctype html>")
    assert json.loads((reviews.folder / "evaluation" / "metrics.json").read_text())["duel"]["verdict"] in said.out


def test_json_is_metrics_json(reviews: Trained, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "evaluation"
    said = glassformer("evaluate", reviews.folder, table, "--json", "--out", out)
    assert said.out == (out / "metrics.json").read_text(encoding="utf-8")
    assert {path.name for path in out.iterdir()} == {"metrics.json", "report.html"}
    document = said.document
    assert [baseline["name"] for baseline in document["duel"]["baselines"]] == BASELINES
    assert document["duel"]["model"]["metrics"] == document["metrics"]
    assert document["metrics"]["rows"] == document["data"]["rows"] == 15
    assert document["data"]["training_rows"] == 207
    assert document["command"].startswith("glassformer evaluate ")
    majority = document["duel"]["baselines"][0]["metrics"]["accuracy"]["value"]
    assert majority in (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert "training the baselines" in said.err


def test_small_changes_of_the_texts_are_answered_too(reviews: Trained, tmp_path: Path) -> None:
    rows = [(f"The {text.split()[-1]} is {text}, and it is new.", label) for text, label in UNSEEN_ROWS * 2]
    command = ("evaluate", reviews.folder, write_csv(tmp_path / "t.csv", rows), "--json", "--out", tmp_path / "e")
    said = glassformer(*command)
    found = said.document["robustness"]
    assert found["rows"] == 30
    assert [each["name"] for each in found["changes"]] == [
        "typos", "upper case", "lower case", "no punctuation", "negation",
    ]  # fmt: skip
    by_name = {each["name"]: each for each in found["changes"]}
    assert by_name["upper case"]["rows"] == 30
    assert by_name["upper case"]["answers_changed"]["value"] == 0  # the readers of this model read lower case
    assert by_name["upper case"]["accuracy_before"] == said.document["metrics"]["accuracy"]["value"]
    assert "with and without small changes" in said.err
    assert "Small changes of the text" in (tmp_path / "e" / "report.html").read_text(encoding="utf-8")
    assert glassformer(*command, "--overwrite").document["robustness"] == found


def test_evaluations_on_other_rows_are_kept_in_the_model_folder(reviews: Trained, table: Path, tmp_path: Path) -> None:
    model, other = tmp_path / "model", write_csv(tmp_path / "other rows.v2.csv", UNSEEN_ROWS[:7])
    shutil.copytree(reviews.folder, model, ignore=shutil.ignore_patterns("evaluation"))
    folder = model / "evaluation"
    for data in (table, table, other):
        said = glassformer("evaluate", model, data)
        assert ("is kept as" in said.err) == (data == other)
    (kept,) = folder.glob("report-*")
    assert f"note: the evaluation on {table}, 15 rows, is kept as {kept}\n" in said.err
    assert kept.name.startswith(f"report-{table.stem}-")
    assert str(table) in kept.read_text(encoding="utf-8")
    figures = json.loads(kept.with_name(kept.name.replace("report", "metrics")).with_suffix(".json").read_text())
    assert figures["data"]["source"] == str(table)
    assert json.loads((folder / "metrics.json").read_text())["data"]["source"] == str(other)
    for data in (table, other):
        assert glassformer("evaluate", model, data).code == 0
    assert {path.name.rpartition("-")[0] for path in folder.glob("*-*")} == {
        f"{file}-{name}" for file in ("report", "metrics") for name in (table.stem, "other-rows-v2")
    }


def test_an_earlier_report_in_out_is_replaced_if_asked(reviews: Trained, table: Path, tmp_path: Path) -> None:
    other = write_csv(tmp_path / "other.csv", UNSEEN_ROWS[:7])
    assert glassformer("evaluate", reviews.folder, table, "--out", tmp_path / "e").code == 0
    command = ("evaluate", reviews.folder, other, "--out", tmp_path / "e")
    misused(glassformer(*command), "e holds an earlier report; choose another --out, or --overwrite to replace it")
    assert glassformer(*command, "--overwrite").code == 0
    assert {path.name for path in (tmp_path / "e").iterdir()} == {"metrics.json", "report.html"}


@pytest.mark.parametrize("other", ["reviews", "attending"])
@pytest.mark.parametrize("command", ["evaluate", "audit"])
def test_a_report_on_a_model_that_was_replaced_meanwhile_is_not_kept(
    reviews: Trained,
    attending: Trained,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    other: str,
) -> None:
    folder = shutil.copytree(reviews.folder, tmp_path / "model")
    load = Predictor.load

    def replacing(*given: Any, **named: Any) -> Predictor:
        found = load(*given, **named)
        save_model(folder, load({"reviews": reviews, "attending": attending}[other].folder).trained, card="")
        return found

    monkeypatch.setattr(Predictor, "load", replacing)
    said = glassformer(command, folder, *([table] if command == "evaluate" else []))
    assert said.code == 1
    assert said.err.endswith(f"error: {folder} was replaced or changed meanwhile; run the command again\n")
    assert "report: " not in said.out
    left = {path.name for path in folder.rglob("*")}
    assert not left & {"audit.html", "audit.json"}
    assert not (folder / "evaluation" / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "text"), [("metrics.json", '{"mine": 1}'), ("metrics.json", "5"), ("report.html", "")]
)
def test_a_file_of_another_program_is_not_replaced(
    reviews: Trained, table: Path, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    said = glassformer("evaluate", reviews.folder, table, "--out", tmp_path)
    misused(said, f"{tmp_path / name} was written by another program and would be replaced; choose another --out")
    assert (tmp_path / name).read_text() == text


def test_one_class_alone(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "one.csv", UNSEEN_ROWS[:1])
    said = glassformer("evaluate", reviews.folder, table, "--out", tmp_path)
    assert f"{table}: 1 text\n" in said.out
    assert f"answering 1 text of {table}\n" in said.err
    assert "note: 'very good' is the only class in this table: the accuracy is the recall" in said.err
    page = (tmp_path / "report.html").read_text(encoding="utf-8").replace("\n", "")
    assert '<th scope="row">not, good</th><td>–</td><td>–</td><td>–</td><td>–</td><td>0</td>' in page
    others = glassformer("evaluate", reviews.folder, reviews.table, "--out", tmp_path, "--overwrite").err
    assert "the only class" not in others


@pytest.mark.usefixtures("unsealed")
def test_a_temperature_that_was_not_fitted_is_not_named(reviews: Trained, table: Path, tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(reviews.folder, copy)
    config = json.loads((copy / "config.json").read_text())
    fitted = {1.0: "(no temperature was fitted)", 1.9: "before the temperature of 1.90)", 1.004: r"error \d\.\d{4}\n"}
    for temperature, words in fitted.items():
        (copy / "config.json").write_text(
            json.dumps(config | {"target": config["target"] | {"temperature": temperature}})
        )
        assert re.search(words.replace("(", r"\(").replace(")", r"\)"), glassformer("evaluate", copy, table).out)


@pytest.mark.parametrize(("weights", "said"), [
    ((1.0, 0.0), "The model answers by counting alone: no held-out training rows"),
    ((0.5, 1.0), "both together give "),
])  # fmt: skip
@pytest.mark.usefixtures("unsealed")
def test_each_reader_is_measured_alone(
    reviews: Trained, table: Path, tmp_path: Path, weights: tuple[float, float], said: str
) -> None:
    folder = shutil.copytree(reviews.folder, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    readers = {name: {"weight": weight, "temperature": 2.0} for name, weight in zip(READERS, weights, strict=True)}
    (folder / "config.json").write_text(json.dumps(config | {"readers": readers}))
    shown = glassformer("evaluate", folder, table)
    document = glassformer("evaluate", folder, table, "--json").document
    assert said in document["duel"]["reader_verdict"]
    assert f"{document['duel']['verdict']}\n{document['duel']['reader_verdict']}\n" in shown.out
    assert document["model"]["readers"] == {
        f"weight of {name}": weight for name, weight in zip(READERS, weights, strict=True)
    }
    alone = document["duel"]["readers"]
    assert [reader["name"] for reader in alone] == (["counting alone", "the transformer alone"] if all(weights) else [])
    assert ("the transformer alone" in shown.out) == all(weights)
    if alone:
        predictor = Predictor.load(folder)
        logits = predictor.reader_logits([text for text, _ in UNSEEN_ROWS])["counting"] / 2.0
        truth = [labels_of(predictor.trained.config.target).labels.index(label) for _, label in UNSEEN_ROWS]
        loss = -log_softmax(logits, axis=1)[range(15), truth].mean()
        assert alone[0]["metrics"]["log_loss"] == pytest.approx(loss, abs=1e-4)


def test_a_transformer_alone_has_no_readers(table: Path, tmp_path: Path) -> None:
    train = write_csv(tmp_path / "train.csv", review_rows(60))
    folder = tmp_path / "model"
    assert glassformer("train", train, "--set", "model.counting=none", "--out", folder, *QUICK).code == 0
    duel = glassformer("evaluate", folder, table, "--json").document["duel"]
    assert duel["model"]["name"] == "the transformer"
    assert (duel["readers"], duel["reader_comparisons"], duel["reader_verdict"]) == ([], [], None)


def test_a_known_data_set_is_measured_on_its_test_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for split, rows in (("train", 600), ("test", 200)):
        monkeypatch.setitem(polarity.N_ROWS, split, rows)
    assert glassformer("train", "polarity", "--out", tmp_path / "m", *QUICK).code == 0
    document = glassformer("evaluate", tmp_path / "m", "polarity", "--json", "--out", tmp_path / "e").document
    assert (document["data"]["split"], document["data"]["rows"]) == ("test", 200)
    words_alone = document["duel"]["baselines"][1]["metrics"]["accuracy"]["value"]
    assert words_alone < 0.65  # a bag of words does badly where order decides


def test_several_labels_are_read_as_in_training(tags: Trained, tmp_path: Path) -> None:
    document = glassformer("evaluate", tags.folder, tags.table, "--json", "--out", tmp_path).document
    assert document["multilabel"]
    assert document["class_names"] == ["film", "neg", "pos"]
    assert [baseline["name"] for baseline in document["duel"]["baselines"]] == BASELINES


def test_texts_that_were_trained_on_are_counted(reviews: Trained, tmp_path: Path) -> None:
    document = glassformer("evaluate", reviews.folder, reviews.table, "--json", "--out", tmp_path).document
    assert any(
        note.startswith("230 of 230 measured texts were also in training; all figures") for note in document["notes"]
    )
    assert document["too_good"] in document["next_steps"][0]["text"]
    assert f"<strong>{document['too_good']}.</strong>" in (tmp_path / "report.html").read_text().partition("<nav")[0]


def test_the_baselines_learn_from_all_rows_that_the_model_saw(tmp_path: Path) -> None:
    train = write_csv(tmp_path / "train.csv", review_rows(60))
    own = write_csv(tmp_path / "own.csv", [(f"{text} again", label) for text, label in review_rows(40)])
    unseen = write_csv(tmp_path / "unseen.csv", UNSEEN_ROWS)
    for counting in ("none", "tfidf"):
        command = ("train", train, "--validation", own, "--set", f"model.counting={counting}")
        assert glassformer(*command, "--out", tmp_path / counting, *QUICK).code == 0
        said = glassformer("evaluate", tmp_path / counting, unseen)
        assert "training the baselines on all 100 rows that the model saw" in said.err
        assert "measured texts" not in said.err
    transformer = glassformer("evaluate", tmp_path / "none", own).err
    assert "training the baselines on all 60 rows" in transformer  # the transformer has not learned the others either
    assert "note: 40 of 40 measured texts were validation rows; the baselines were trained without them" in transformer
    said = glassformer("evaluate", tmp_path / "tfidf", own)
    assert "\nNo verdict: some of these rows were learned.\n" in said.out
    counting = said.err
    assert "training the baselines on all 100 rows" in counting
    assert "note: 40 of 40 measured texts were also in training; all figures are too good" in counting


def test_the_baseline_chooses_its_strength_by_whole_groups(tmp_path: Path) -> None:
    rows = [(text, label, f"author {number // 6}") for number, (text, label) in enumerate(review_rows(240))]
    train = write_csv(tmp_path / "train.csv", rows, ("text", "label", "author"))
    command = ("train", train, "--group", "author", "--set", "model.counting=tfidf", "--out", tmp_path / "m", *QUICK)
    assert glassformer(*command).code == 0
    document = glassformer("evaluate", tmp_path / "m", write_csv(tmp_path / "t.csv", UNSEEN_ROWS), "--json").document
    assert "cross-validation of whole groups" in document["duel"]["baselines"][1]["description"]


def test_validation_rows_that_changed(tmp_path: Path) -> None:
    train, own = write_csv(tmp_path / "train.csv", review_rows(60)), write_csv(tmp_path / "own.csv", UNSEEN_ROWS)
    assert glassformer("train", train, "--validation", own, "--out", tmp_path / "model", *QUICK).code == 0
    write_csv(own, [("good film", "a new label")])
    said = glassformer("evaluate", tmp_path / "model", train)
    assert said.code == 0
    assert "note: The training rows cannot be read" in said.err
    assert "'a new label'" in said.err


def test_rows_left_out_and_conflicts_are_said(reviews: Trained, tmp_path: Path) -> None:
    rows = [*UNSEEN_ROWS, ("", POSITIVE), ("good new film", NEGATIVE)]
    said = glassformer("evaluate", reviews.folder, write_csv(tmp_path / "t.csv", rows), "--json", "--out", tmp_path)
    assert "left out: 1 × empty text" in said.err
    assert said.document["dropped"] == [{"reason": "empty text", "count": 1, "first_rows": [16]}]
    assert any("different labels" in note for note in said.document["notes"])


def test_a_training_table_that_moved(
    reviews: Trained, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(reviews.folder, tmp_path / "moved")
    command = ("evaluate", folder, table, "--json", "--out", tmp_path, "--overwrite")
    without = glassformer(*command)
    assert without.code == 0
    assert without.document["duel"]["baselines"] == []
    (note,) = (note for note in without.document["notes"] if "cannot be read" in note)
    assert "it is not known whether the model learned some of these rows. --train" in note
    assert "--train" in without.err
    beside = glassformer(*command, "--train", reviews.table)
    assert [baseline["name"] for baseline in beside.document["duel"]["baselines"]] == BASELINES
    assert beside.document["metrics"] == without.document["metrics"]
    shutil.copyfile(reviews.table, reviews.table.name)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    above = glassformer(*command)
    assert [baseline["name"] for baseline in above.document["duel"]["baselines"]] == BASELINES


def test_a_training_table_that_changed(
    reviews: Trained, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(Path("reviews.csv"), review_rows(232))
    command = ("evaluate", reviews.folder, table, "--json", "--out", tmp_path / "e", "--overwrite")
    without = glassformer(*command).document
    assert without["duel"]["baselines"] == []
    assert any("has changed" in note for note in without["notes"])
    write_csv(Path("reviews.csv"), review_rows(3))  # cannot even be split
    assert any("changed" in note or "cannot be read" in note for note in glassformer(*command).document["notes"])
    misused(glassformer(*command, "--train", "reviews.csv"))


def test_a_train_flag_that_does_not_lead_to_the_rows(reviews: Trained, table: Path, tmp_path: Path) -> None:
    command = ("evaluate", reviews.folder, table, "--out", tmp_path / "e", "--train")
    misused(glassformer(*command, table), str(table), "does not hold the rows")
    misused(glassformer(*command, "nosuch.csv"), "No such file: nosuch.csv")
    assert not (tmp_path / "e").exists()


@pytest.mark.parametrize(
    ("rows", "arguments", "words"),
    [
        ([("good", POSITIVE), ("strange", "weird")], [], ["'weird' (row 2)", "not seen in training", POSITIVE]),
        (
            [("strange", "weird"), ("odd", "new")],
            [],
            ["No label of this column is known: name the right column with --label. `glassformer predict` answers"],
        ),
        ([("good", POSITIVE)], ["--text", "nope"], ["no column 'nope' (--text)"]),
        ([("good", POSITIVE)], ["--label", "nope"], ["no column 'nope' (--label)"]),
        ([("good", POSITIVE)], ["--multilabel", "|"], ["several labels", "one label"]),
        ([], [], ["no rows"]),
        ([("good", POSITIVE)], ["--device", "abacus"], ["--device abacus"]),
    ],
)
def test_a_table_that_cannot_be_measured_on(
    rows: list[tuple[str, str]], arguments: list[str], words: list[str], reviews: Trained, tmp_path: Path
) -> None:
    table = write_csv(tmp_path / "t.csv", rows)
    misused(glassformer("evaluate", reviews.folder, table, "--out", tmp_path / "e", *arguments), *words)
    assert not (tmp_path / "e").exists()


def test_places_that_are_not_there(reviews: Trained, table: Path) -> None:
    models = [reviews.folder, reviews.folder]
    for command in (["evaluate", models[0], "nosuch.csv"], ["compare", *models, "nosuch.csv"]):
        misused(glassformer(*command), "No such file: nosuch.csv")  # before a model is read
    misused(glassformer("evaluate", reviews.folder, "imbd"), "Did you mean 'imdb'?")
    misused(glassformer("evaluate", "nosuch", table), "no such model folder")
    misused(glassformer("evaluate", reviews.folder, table, "--out", table), "is a file")


def test_labels_that_training_in_python_folded_are_folded(tmp_path: Path) -> None:
    rows = review_rows(40)
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    labels[0] = labels[0].upper()
    classifier = TextClassifier("tiny", epochs=1, fold_labels=True, settings={"training.min_steps_per_epoch": 1})
    folder = classifier.fit(texts, labels).save(tmp_path / "model")
    train = write_csv(tmp_path / "train.csv", list(zip(texts, labels, strict=True)))
    table = write_csv(tmp_path / "other.csv", [(text, label.upper()) for text, label in UNSEEN_ROWS])
    said = glassformer("evaluate", folder, table, "--train", train)
    assert said.code == 0, said.err
    assert "TF-IDF" in said.out
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert glassformer("compare", folder, copy, table).code == 0


def test_a_few_texts_of_the_training_table_make_figures_a_little_too_good(reviews: Trained, tmp_path: Path) -> None:
    unseen = [(f"{text} {number}", label) for number in range(10) for text, label in UNSEEN_ROWS]
    table = write_csv(tmp_path / "few.csv", [*unseen, *review_rows(3)])
    said = glassformer("evaluate", reviews.folder, table, "--out", tmp_path)
    assert re.search(r"[23] of 153 measured texts were also in training; figures may be too good\n", said.err)


def test_rows_that_were_left_out_are_not_counted_as_the_whole_table(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "gaps.csv", [*UNSEEN_ROWS, ("", POSITIVE), ("a film", "")])
    said = glassformer("evaluate", reviews.folder, table, "--json", "--out", tmp_path)
    assert said.document["data"]["split"] == "the rows with text and label"
    assert "(the rows with text and label, 15 of 17 rows)" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_class_that_is_more_missed_than_found_is_named(reviews: Trained, tmp_path: Path) -> None:
    turned = [(text, NEGATIVE if label == POSITIVE else POSITIVE) for text, label in UNSEEN_ROWS * 3]
    said = glassformer("evaluate", reviews.folder, write_csv(tmp_path / "turned.csv", turned), "--out", tmp_path)
    assert (
        f"More missed than found: {NEGATIVE!r} (30 of 30 texts missed), {POSITIVE!r} (15 of 15 texts missed)."
        in said.out
    )
    command = f"glassformer costs {reviews.folder} '{POSITIVE}=10'"
    assert f"Label more texts of {POSITIVE!r}: it was found in 0 of 15." in said.out
    assert f"(here 10 times), then measure again: `{command}`" in said.out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"<code>{command}</code>" in html.unescape(page)
    assert "More missed than found: " in page.partition("<nav")[0]


def test_folding_labels_that_the_model_keeps_apart_is_said(tmp_path: Path) -> None:
    rows = [(f"{word} film {number}", label) for number in range(20) for word, label in
            (("good", "Good"), ("great", "good"), ("bad", "bad"))]  # fmt: skip
    table = write_csv(tmp_path / "t.csv", rows)
    assert glassformer("train", table, "--out", tmp_path / "m", *OF_FEW_ROWS).code == 0
    kept = (
        "--fold-labels does not join labels that the model was trained to keep apart: 'Good' and 'good'. "
        "Train with --fold-labels to join them"
    )
    for command in (("evaluate",), ("compare", tmp_path / "m")):
        if command[0] == "compare":
            shutil.copytree(tmp_path / "m", tmp_path / "n")
        model = tmp_path / ("n" if command[0] == "compare" else "m")
        assert f"note: {kept}" in glassformer(*command, model, table, "--fold-labels").err
        assert kept not in glassformer(*command, model, table).err


def test_the_measured_answers_are_those_of_predict(reviews: Trained, table: Path, tmp_path: Path) -> None:
    """Both readers answer, with the weights and the temperature of the model folder."""
    document = glassformer("evaluate", reviews.folder, table, "--json", "--out", tmp_path).document
    answers = glassformer("predict", reviews.folder, "--file", table, "--json").document["answers"]
    truth = [label for _, label in UNSEEN_ROWS]
    losses = [
        -math.log(max(answer["probabilities"][label], 1e-9)) for answer, label in zip(answers, truth, strict=True)
    ]
    assert document["metrics"]["log_loss"] == pytest.approx(sum(losses) / len(losses), abs=1e-4)
    files = [path for path in reviews.folder.rglob("*") if path.suffix in (".json", ".safetensors")]
    size = sum(path.stat().st_size for path in files if path.name != "metrics.json")
    assert document["duel"]["model"]["size_bytes"] == size


def test_a_slice_that_is_worse_is_named(reviews: Trained, tmp_path: Path) -> None:
    """In one shop, all labels are wrong."""
    turned = {POSITIVE: NEGATIVE, NEGATIVE: POSITIVE}
    rows = [
        (f"{text} again", turned[label] if number % 4 == 0 else label, "north" if number % 4 == 0 else "south")
        for number, (text, label) in enumerate(review_rows(120))
    ]
    table = write_csv(tmp_path / "t.csv", rows, ("text", "label", "shop"))
    said = glassformer("evaluate", reviews.folder, table, "--out", tmp_path / "e")
    slices = json.loads((tmp_path / "e" / "metrics.json").read_text())["slices"]
    assert slices["columns"] == ["shop"]
    (north,) = (each for each in slices["listed"] if each["value"] == "north")
    assert (north["kind"], north["rows"], north["corrected_p"] < 0.001) == ("column", 30, True)
    assert "Worse than elsewhere: shop: north, " in said.out
    assert '<th scope="row">shop: north</th><td>30</td>' in (tmp_path / "e" / "report.html").read_text(encoding="utf-8")
    plain = glassformer("evaluate", reviews.folder, write_csv(table, [(text, label) for text, label, _ in rows]))
    assert "shop" not in plain.out


def test_without_a_worse_slice_nothing_is_said(reviews: Trained, table: Path, tmp_path: Path) -> None:
    said = glassformer("evaluate", reviews.folder, table, "--out", tmp_path)
    assert "Worse than elsewhere" not in said.out
    assert "There was no slice to look at." in (tmp_path / "report.html").read_text(encoding="utf-8")
