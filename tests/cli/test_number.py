"""`train --task number`, and what the other commands do with its model."""

import json
import random
import shlex
import shutil
from pathlib import Path

import polars as pl
import pytest

from glassformer.prediction.predictor import Predictor
from glassformer.serving.served_model import ServedModel
from tests.cli.terminal import QUICK, glassformer, misused
from tests.fits import few_steps
from tests.matrix.samples import let_both_answer
from tests.trained import Trained, write_csv

WORDS = {"awful": 1.0, "poor": 2.5, "fair": 3.0, "fine": 4.5, "superb": 6.0}
HEADER = ("text", "score")
COUNTING = ("--preset", "tiny", "--epochs", "0")


def scored_rows(count: int) -> list[tuple[str, str]]:
    draw = random.Random(4)
    rows = []
    for number in range(count):
        word = draw.choice(list(WORDS))
        rows.append((f"{word} {draw.choice(('film', 'book', 'song'))} {number}", f"{WORDS[word] + draw.random():.3f}"))
    return rows


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """By counting and the body alone, with 4 folds."""
    folder = tmp_path_factory.mktemp("scores")
    table = write_csv(folder / "t.csv", scored_rows(90), HEADER)
    outcome = glassformer("train", table, "--target", "score", "--out", folder / "model", *COUNTING)
    return Trained(folder=folder / "model", table=table, outcome=outcome)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """With a transformer alone, and validation rows."""
    folder = tmp_path_factory.mktemp("both")
    table = write_csv(folder / "t.csv", scored_rows(250), HEADER)
    flags = (*QUICK, "--set", "model.counting=none", "--set", "training.learning_rate=5e-3")
    outcome = glassformer("train", table, "--task", "number", "--label", "score", "--out", folder / "model", *flags)
    return Trained(folder=folder / "model", table=table, outcome=outcome)


def test_training_says_what_it_found_and_leaves_a_folder(scores: Trained) -> None:
    said = scores.outcome
    assert said.code == 0, said.err
    assert "task: a number (column 'score' holds decimal numbers)" in said.err
    assert "numbers from 1." in said.err
    assert "R² on all 90 rows, each answered by readers that had not learned it: counting alone 0." in said.err
    assert "cross-validated R² 0." in said.out
    config = json.loads((scores.folder / "config.json").read_text())
    assert (config["format"], config["target"]["column"]) == ("glassformer-number", "score")
    assert "R² 0." in (scores.folder / "README.md").read_text()
    page = scores.folder / "report.html"
    assert f"report: {page} (the figures, and what to do next)\n" in said.err
    assert "glassformer train " in page.read_text(encoding="utf-8")


def test_texts_are_answered_with_an_interval(scores: Trained) -> None:
    said = glassformer("predict", scores.folder, "superb film", " ")
    value, interval, text = said.out.splitlines()[0].split("\t")
    assert 5 < float(value) < 8
    low, high = map(float, interval.split(" to "))
    assert low < float(value) < high
    assert text == "superb film"
    assert said.out.splitlines()[1].startswith("(no text)")
    assert "should contain the true number of 90% of texts; calibrated on 90 cross-fitted rows" in said.err
    piped = glassformer("predict", scores.folder, "--jsonl", stdin=b"awful song\nfine book\n")
    low_one, high_one = (json.loads(line) for line in piped.out.splitlines())
    assert low_one["prediction"] < high_one["prediction"]
    answer = {"text", "prediction", "interval_low", "interval_high", "readers", "unseen_share", "unlike_training"}
    assert set(low_one) == answer
    assert low_one["readers"]["transformer"] == 0


def test_tables_are_answered_beside_their_columns(scores: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "new.csv", [("superb film", "1"), ("", "2")], ("text", "id"))
    said = glassformer("predict", scores.folder, "--file", table, "--out", tmp_path / "a.csv", "--json")
    assert said.document == {"out": str(tmp_path / "a.csv"), "rows": 2, "answered": 1, "unanswered": 1}
    found = pl.read_csv(tmp_path / "a.csv")
    assert found.columns == [
        "text",
        "id",
        *["prediction", "interval_low", "interval_high", "unseen_share", "unlike_training"],
    ]
    assert found["prediction"].null_count() == 1
    assert "prediction" in glassformer("predict", scores.folder, "--file", table).out
    lines = glassformer("predict", scores.folder, "--file", table, "--jsonl").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["1", "2"]


def test_it_is_measured_beside_baselines(both: Trained) -> None:
    assert "validation R² 0." in both.outcome.out
    said = glassformer("evaluate", both.folder, both.table)
    assert said.code == 0, said.err
    assert "TF-IDF + ridge regression" in said.out
    assert "should hold 90% of the numbers" in said.out
    assert "225 of 250 measured texts were also in training" in said.err
    found = json.loads((both.folder / "evaluation" / "metrics.json").read_text())
    assert found["metrics"]["r2"]["value"] > 0.5
    assert len(found["points"]) == 250
    page = (both.folder / "evaluation" / "report.html").read_text()
    assert "Do the intervals hold?" in page
    assert page.count("<circle") >= 250
    document = glassformer("evaluate", both.folder, both.table, "--json", "--train", both.table).document
    assert document["target"] == "score"


def test_two_models_of_a_number_are_compared_row_by_row(scores: Trained, both: Trained, reviews: Trained) -> None:
    command = ("compare", scores.folder, both.folder, both.table)
    found, said = glassformer(*command, "--json").document, glassformer(*command).out
    truth = [float(each) for each in pl.read_csv(both.table, infer_schema=False)["score"]]
    texts = pl.read_csv(both.table)["text"].to_list()
    off = [
        [abs(answer - right) for answer, right in zip(Predictor.load(each).answer(texts).values, truth, strict=True)]
        for each in (scores.folder, both.folder)
    ]
    assert found["mae_a"]["value"] == pytest.approx(sum(off[0]) / len(truth))
    assert found["a_nearer"] == sum(a < b for a, b in zip(*off, strict=True))
    assert found["a_nearer"] + found["b_nearer"] == len(truth)
    gaps = [b - a for a, b in zip(*off, strict=True)]
    assert found["most_a_nearer"][0]["row"] == 1 + gaps.index(max(gaps))
    assert found["difference"]["value"] == pytest.approx(found["r2_a"]["value"] - found["r2_b"]["value"])
    assert found["verdict"] in said
    assert f"{both.folder} is nearer: {found['b_nearer']} texts" in said
    misused(glassformer("compare", scores.folder, reviews.folder, both.table), "only models of the same kind of answer")
    misused(glassformer(*command, "--fold-labels"), "--fold-labels", "answers with a number")


def test_the_shares_of_words_add_up_to_the_number(both: Trained, scores: Trained) -> None:
    found = glassformer("explain", both.folder, "superb film", "--json").document
    first, second = (word["effect"] for word in found["words"])
    assert first > abs(second)
    assert first == pytest.approx(sum(found["words"][0]["readers"].values()), abs=1e-4)
    parts = [found["without_known_words"], found["unexplained"], *(word["total"] for word in found["words"])]
    assert sum(parts) == pytest.approx(found["margin"])
    assert found["prediction"] == pytest.approx(found["margin"], abs=1e-4)
    (answer,) = glassformer("predict", both.folder, "superb film", "--json").document["answers"]
    assert {key: found[key] for key in ("prediction", "interval_low")} == {
        key: answer[key] for key in ("prediction", "interval_low")
    }
    said = glassformer("explain", scores.folder, "awful film, awful book")
    lines = said.out.splitlines()
    assert lines[0].startswith("score: ")
    assert "for 90% of texts)" in lines[0]
    assert lines[5].startswith("awful")
    assert "−" in lines[5]
    assert "by deletion of words, its shares did better in" in said.out
    piped = glassformer("explain", scores.folder, "-", stdin=b"a superb song")
    assert "superb" in piped.out


def test_all_that_explains_a_label_explains_a_number(both: Trained) -> None:
    asked = ("--method", "occlusion", "--heads", "--neighbours", "--counterfactual")
    found = glassformer("explain", both.folder, "superb film, superb song", *asked, "--json").document
    assert found["method"] == "occlusion"
    assert found["readers"] == ["transformer"]
    assert found["heads"]
    assert found["neighbours"]
    turned = found["counterfactual"]
    assert not found["interval_low"] < turned["prediction"] < found["interval_high"]
    (answer,) = glassformer("predict", both.folder, turned["text"], "--json").document["answers"]
    assert answer["prediction"] == pytest.approx(turned["prediction"], abs=1e-4)
    traced = glassformer("trace", both.folder, "superb film").out
    assert (
        traced.splitlines()[-1]
        == f"The answer: {glassformer('explain', both.folder, 'superb film').out.splitlines()[0]}"
    )
    below = glassformer("explain", both.folder, "superb film", "--counterfactual", "--below", 3)
    assert "The answer falls below 3 if you " in below.out
    above = glassformer("explain", both.folder, "superb film", "--counterfactual", "--above", 1e6)
    assert "No change of words was found that moves the answer above 1,000,000: " in above.out


def test_an_explanation_is_written_as_a_page(both: Trained, tmp_path: Path) -> None:
    said = glassformer("explain", both.folder, "superb film <b>", "--html", tmp_path / "why.html")
    assert said.code == 0, said.err
    assert f"page: {tmp_path / 'why.html'}" in said.err
    page = (tmp_path / "why.html").read_text()
    assert "score: " in page
    assert ">superb</mark>" in page
    assert "<b>" not in page
    assert "What each word adds to the number" in page


def test_the_rows_of_a_table_are_explained(scores: Trained, tmp_path: Path) -> None:
    rows = [("superb film, superb", "1"), (" ", "2"), ("awful song", "3"), ("word " * 40, "4")]
    table = write_csv(tmp_path / "new.csv", rows, ("text", "id"))
    said = glassformer("explain", scores.folder, "--file", table, "--out", tmp_path / "why.csv")
    assert said.code == 0, said.err
    assert "1 row has an empty text and no explanation" in said.err
    assert f"{tmp_path / 'why.csv'}: 3 of 4 rows explained" in said.out
    found = pl.read_csv(tmp_path / "why.csv")
    columns = ["prediction", "interval_low", "interval_high", "words_raising", "words_lowering"]
    columns += ["faithfulness", "verdict", "unlike_training"]
    assert found.columns == ["text", "id", *columns]
    assert found["words_raising"][0].startswith("superb +")
    assert found["words_lowering"][2].startswith("awful −")
    assert found["prediction"].is_null().to_list() == [False, True, False, False]
    answers = glassformer("predict", scores.folder, "--file", table, "--jsonl").out.splitlines()
    assert found["prediction"][0] == pytest.approx(json.loads(answers[0])["prediction"], rel=1e-4)
    said = glassformer("explain", scores.folder, "--file", table, "--out", tmp_path / "why.jsonl", "--json")
    counts = {"rows": 4, "explained": 3, "trusted": 0, "unlike_training": 1}
    assert said.document == {"out": str(tmp_path / "why.jsonl"), **counts}
    first = json.loads((tmp_path / "why.jsonl").read_text().splitlines()[0])
    assert first["words_raising"][0]["word"] == "superb"
    assert first["words_raising"][0]["effect"] > 0
    misused(glassformer("explain", scores.folder, "--file", table, "--out", tmp_path / "why.csv"), "--overwrite")


def test_rows_may_have_several_inputs(tmp_path: Path) -> None:
    rows = [(text, "a b", str(number % 3), score) for number, (text, score) in enumerate(scored_rows(60))]
    table = write_csv(tmp_path / "t.csv", rows, ("first", "second", "shop", "score"))
    flags = ("--text", "first", "--text", "second", "--columns", "shop", "--target", "score", *COUNTING)
    said = glassformer("train", table, "--out", tmp_path / "m", *flags)
    assert said.code == 0, said.err
    for place in (said.err, (tmp_path / "m" / "README.md").read_text()):
        assert """'{"first": "…", "second": "…", "shop": 1.0}'""" in place
    assert f"""    glassformer explain {tmp_path / "m"} '{{"first": "…", """ in said.err
    assert "(text: `first` and `second`, beside it: `shop`, number: `score`)" in place
    row = json.dumps({"first": "superb film", "second": "a b", "shop": "1"})
    answer = glassformer("predict", tmp_path / "m", row, "--json").document["answers"][0]
    assert answer["prediction"] > 4
    assert answer["shop"] == "1"
    assert "superb film | a b [shop=1 to 2]" in glassformer("predict", tmp_path / "m", row).out
    assert "first: superb film\nsecond: a b" in glassformer("explain", tmp_path / "m", row).out
    explained = glassformer("explain", tmp_path / "m", row, "--json").document
    assert explained["text"] == "shop=1 to 2\nfirst: superb film\nsecond: a b"
    words = [(explained["text"][each["start"] : each["end"]], each["word"]) for each in explained["words"]]
    assert words == [(word, word) for word in ("shop=1 to 2", "superb", "film", "a", "b")]
    assert len(glassformer("predict", tmp_path / "m", "--file", table).out.splitlines()) == 61
    assert ServedModel.load("m", tmp_path / "m", device="cpu").about()["measured"] is None
    measured = glassformer("evaluate", tmp_path / "m", table)
    assert "TF-IDF + ridge regression" in measured.out
    figures = json.loads((tmp_path / "m" / "evaluation" / "metrics.json").read_text())["metrics"]
    gives = json.loads((tmp_path / "m" / "evaluation" / "metrics.json").read_text())["inputs"]
    assert [(each["name"], each["kind"]) for each in gives] == [
        ("first", "text"),
        ("second", "text"),
        ("shop", "column"),
    ]
    assert gives[0]["gain"]["low"] > 0.5
    assert gives[0]["r2"] == pytest.approx(figures["r2"]["value"], abs=1e-5)
    assert gives[0]["r2"] - gives[0]["r2_without"] == pytest.approx(gives[0]["gain"]["value"])
    assert gives[1]["gain"]["value"] == 0
    assert (
        "loss of R² is what the model gets from this input"
        in (tmp_path / "m" / "evaluation" / "report.html").read_text()
    )
    assert ServedModel.load("m", tmp_path / "m", device="cpu").about()["measured"] is None  # of training rows
    assert (
        glassformer(
            "evaluate",
            tmp_path / "m",
            write_csv(
                tmp_path / "u.csv",
                [(f"{first} now", second, shop, score) for first, second, shop, score in rows],
                ("first", "second", "shop", "score"),
            ),
        ).code
        == 0
    )
    figures = json.loads((tmp_path / "m" / "evaluation" / "metrics.json").read_text())["metrics"]
    served = ServedModel.load("m", tmp_path / "m", device="cpu").about()["measured"]
    assert (served["rows"], served["r2"], served["mean_absolute_error"]) == (60, figures["r2"], figures["mae"])
    misused(glassformer("predict", tmp_path / "m", "superb film"), "this model reads the texts 'first' and 'second'")
    assert "calibrated on" not in glassformer("predict", tmp_path / "m", "superb film").err


def test_it_needs_torch_and_says_so(scores: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = shutil.copytree(scores.folder, tmp_path / "both")
    let_both_answer(both)
    monkeypatch.setattr("glassformer.prediction.load_answering.is_installed", lambda package: package != "torch")
    for folder in (scores.folder, both):
        assert glassformer("predict", folder, "a film").code == 0, "a few texts are answered without it"
        misused(glassformer("explain", folder, "a film"), "needs PyTorch, which is not installed here; export it")


def test_the_same_run_gives_the_same_model(scores: Trained, tmp_path: Path) -> None:
    glassformer("train", scores.table, "--target", "score", "--out", tmp_path / "m", *COUNTING)
    for name in ("counting.safetensors", "model.safetensors"):
        assert (tmp_path / "m" / name).read_bytes() == (scores.folder / name).read_bytes()


@pytest.mark.parametrize(
    ("changed", "flags", "words"),
    [
        ({16: "three"}, (), ["column 'score': 'three' (row 17) is not a finite number", "say so: --task classes"]),
        ({16: "inf"}, (), ["'inf' (row 17)"]),
        ({16: "nan", 17: "?"}, (), ["'nan' (row 17) and '?' (row 18) are not finite numbers"]),
        ({2: "3,5"}, (), ["'3,5' (row 3)", "Write 3,5 as 3.5, and 1,000 as 1000."]),
        (dict.fromkeys(range(30), "4"), (), ["every row has the number 4"]),
        (dict.fromkeys(range(30), "good"), (), ["is not a finite number"]),
        ({}, ("--fold-labels",), ["--fold-labels is for models"]),
        ({}, ("--recipe", "vinh-mlp"), ["answers with labels, not with a number"]),
        ({}, ("--multilabel", "|"), ["contradict each other"]),
        ({}, ("--set", "training.class_weights=balanced"), ["training.class_weights: a number has no classes"]),
        ({}, ("--costs", "5=2"), ["error: --costs: a number has no labels that could be missed; leave it out"]),
        ({}, ("--set", "training.label_smoothing=0.1"), ["training.label_smoothing: a number has no labels"]),
        (
            {},
            ("--set", "training.loss=focal"),
            ["training.loss = 'focal' is made for one label per text, not for a number"],
        ),
        ({number: f"{number}e-200" for number in range(30)}, (), ["the numbers are too small or too close together"]),
        ({}, ("--set", "model.head=ordered"), ["model.head = 'ordered' answers with ordered classes"]),
    ],
)
def test_what_cannot_be_learned_is_refused(
    changed: dict[int, str], flags: tuple[str, ...], words: list[str], tmp_path: Path
) -> None:
    rows = [(text, changed.get(number, score)) for number, (text, score) in enumerate(scored_rows(30))]
    table = write_csv(tmp_path / "t.csv", rows, HEADER)
    task = ("--task", "number", "--label", "score")
    misused(glassformer("train", table, *task, "--out", tmp_path / "m", *flags), *words)
    assert not (tmp_path / "m" / "config.json").exists()


def test_a_table_of_one_number_measures_nothing(scores: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [(text, "4") for text, _ in scored_rows(3)], HEADER)
    misused(glassformer("evaluate", scores.folder, table), "every row has the number 4", "R² cannot be measured")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("predict", "MODEL", "a", "--top-k", "2"), "--top-k is for models that answer with labels"),
        (("predict", "MODEL", "a", "--automatic", "0.9"), "--automatic is for models"),
        (("evaluate", "MODEL", "TABLE", "--fold-labels"), "--fold-labels is for models"),
        (("explain", "MODEL", "a", "--label", "5"), "--label is for models that answer with labels; this one answers"),
        (("explain", "MODEL", "a", "--above", "5"), "--above goes with --counterfactual"),
        (("explain", "MODEL", "a", "--counterfactual", "--above", "0"), "--above 0: the answer, "),
        (("explain", "MODEL", "a", "--counterfactual", "--above", "9", "--below", "1"), "give --above or --below, not"),
        (("explain", "MODEL", "--file", "TABLE", "--html", "x"), "--html goes with a text, not with --file"),
        (("explain", "MODEL", "--file", "none.csv"), "No such file: none.csv"),
        (("explain", "MODEL", "  "), "the text is empty"),
    ],
)
def test_what_is_for_labels_says_so(command: tuple[str, ...], words: str, scores: Trained, tmp_path: Path) -> None:
    places = {"MODEL": str(scores.folder), "TABLE": str(scores.table), "x": str(tmp_path / "x")}
    misused(glassformer(*(places.get(word, word) for word in command)), words)


def test_a_model_without_seen_words_says_what_it_cannot_tell(scores: Trained, tmp_path: Path) -> None:
    flags = ("--target", "score", *COUNTING, "--set", "training.keep_seen_words=false")
    assert glassformer("train", scores.table, "--out", tmp_path / "model", *flags).code == 0
    said = glassformer("predict", tmp_path / "model", "superb film")
    assert "cannot tell which texts are unlike" in said.err
    assert not (tmp_path / "model" / "seen.safetensors").exists()


def test_a_folder_of_tables_is_answered(scores: Trained, tmp_path: Path) -> None:
    shards, out = tmp_path / "shards", tmp_path / "answers"
    shards.mkdir()
    for number, texts in enumerate((["superb film", ""], ["awful song"])):
        pl.DataFrame({"text": texts}).write_parquet(shards / f"{number}.parquet")
    said = glassformer("predict", scores.folder, "--file", shards, "--out", out, "--json").document
    assert (said["shards"], said["answered"], said["unanswered"], "predictions" in said) == (2, 2, 1, False)
    found = pl.read_parquet(out / "*.parquet")
    assert found["prediction"].is_null().to_list() == [False, True, False]
    expected = glassformer("predict", scores.folder, "superb film", "awful song", "--json").document["answers"]
    assert found["prediction"].drop_nulls().to_list() == [each["prediction"] for each in expected]


def test_a_model_of_a_number_starts_from_another_one(both: Trained, tmp_path: Path) -> None:
    begun = ("--target", "score", "--init", both.folder, *QUICK[2:])
    said = glassformer("train", both.table, *begun, "--out", tmp_path / "m")
    assert said.code == 0, said.err
    assert json.loads((tmp_path / "m" / "config.json").read_text())["init"]["from"] == str(both.folder)


def test_a_model_of_a_number_learns_a_word(both: Trained, tmp_path: Path) -> None:
    asked = ("--definition", "a superb film", "--out", tmp_path / "m")
    said = glassformer("learn-word", both.folder, "masterpiece", *asked)
    assert said.code == 0, said.err
    assert glassformer("predict", tmp_path / "m", "masterpiece").code == 0


def test_the_minutes_decide_about_a_number_too(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", scored_rows(250), HEADER)
    small = ("--preset", "tiny", "--set", "model.d_model=16")
    said = glassformer("train", table, "--target", "score", "--out", tmp_path / "m", "--minutes", "0.01", *small)
    assert said.code == 0, said.err
    assert "time: 0.01 minutes. Counting and the body took" in said.err
    assert json.loads((tmp_path / "m" / "metrics.json").read_text())["time_plan"]["minutes"] == 0.01


def test_numbers_far_from_their_answers_come_with_the_command_that_checks_all(tmp_path: Path) -> None:
    rows = [(text, "20" if row == 30 else number) for row, (text, number) in enumerate(scored_rows(120))]
    table = write_csv(tmp_path / "my scores.csv", rows, ("text", "score"))
    with few_steps(n_folds=4):
        said = glassformer("train", table, "--target", "score", "--out", tmp_path / "m", *COUNTING)
    assert said.code == 0, said.err
    (line,) = (line for line in said.err.splitlines() if line.startswith("numbers: "))
    command = f"glassformer labels '{table}' --target score --task number"
    assert "a number far from the answer (row 31)" in line
    assert line.endswith(
        f". To correct numbers: `{command}`, which checks them without a transformer, so it may list other rows"
    )
    checked = glassformer(*shlex.split(command)[1:], "--out", tmp_path / "check.csv")
    assert "\n  row 31, 20 → " in checked.out
