"""Rows of several inputs from the command line: two texts, and columns beside the text."""

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fastapi.testclient import TestClient
from sklearn.base import clone

from glassformer import TextClassifier
from glassformer.data.inputs import BEGIN, END, SEPARATOR
from glassformer.errors import InputError, UsageError
from glassformer.serving.api import create_app
from glassformer.serving.served_model import ServedModel
from tests.cli.terminal import QUICK, glassformer, misused
from tests.support import NAType, unchecked_shapes
from tests.trained import Trained, write_csv

HEADER = ("review", "price", "shop", "label")
ROW = {"review": "the lamp came", "price": 12, "shop": "Berlin"}


def sold(count: int) -> list[tuple[str, ...]]:
    """Reviews of which half say nothing: the shop then decides."""
    draw = random.Random(5)
    rows: list[tuple[str, ...]] = []
    for number in range(count):
        shop, price = draw.choice(["Berlin", "berlin", "Ulm", ""]), draw.choice(["", f"{draw.uniform(3, 90):.2f}"])
        word = draw.choice(["good", "bad", "here", "here"])
        label = word if word != "here" else "good" if shop.lower() == "berlin" else "bad"
        rows.append((f"the {draw.choice(['lamp', 'desk', 'book'])} is {word} {number}", price, shop, label))
    return rows


def asked(count: int) -> list[tuple[str, ...]]:
    """Pairs of texts that have their color in common, or not."""
    draw = random.Random(6)
    colors = ["red", "blue", "green", "white"]
    rows: list[tuple[str, ...]] = []
    for number in range(count):
        one, other = draw.choice(colors), draw.choice(colors)
        rows.append((f"is it {one} {number}", f"it is {other}", "yes" if one == other else "no"))
    return rows


@pytest.fixture(scope="session")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("beside")
    table = write_csv(folder / "sold.csv", sold(230), HEADER)
    outcome = glassformer("train", table, "--out", folder / "model", "--columns", "price,shop", *QUICK)
    return Trained(folder=folder / "model", table=table, outcome=outcome)


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("pairs")
    table = write_csv(folder / "asked.csv", asked(230), ("question", "answer", "label"))
    flags = ("--text", "question", "--text", "answer", "--set", "model.counting=none", *QUICK)
    outcome = glassformer("train", table, "--out", folder / "model", *flags)
    return Trained(folder=folder / "model", table=table, outcome=outcome)


def no_marks(said: str) -> bool:
    return not any(mark in said or ascii(mark)[1:-1] in said for mark in (SEPARATOR, BEGIN, END))


def test_train_says_how_the_inputs_are_read(beside: Trained, pairs: Trained) -> None:
    assert "  column 'price': numbers, in 10 quantiles, " in beside.outcome.err
    assert "  column 'shop': 2 categories, " in beside.outcome.err
    assert """predict model '{"review": "…", "price": """ in beside.outcome.err.replace(f"{beside.folder}", "model")
    assert "  texts: 'question' and 'answer'" in pairs.outcome.err
    assert no_marks(beside.outcome.err + pairs.outcome.err)


def test_the_folder_keeps_the_inputs(beside: Trained, pairs: Trained) -> None:
    config = json.loads((beside.folder / "config.json").read_text())
    assert [column["name"] for column in config["inputs"]["columns"]] == ["price", "shop"]
    assert config["data"]["read_as"]["columns"] == ["price", "shop"]
    assert config["model"]["design"] == "classifier"
    of_pairs = json.loads((pairs.folder / "config.json").read_text())
    assert of_pairs["inputs"] == {"texts": ["question", "answer"], "columns": []}
    assert of_pairs["model"]["design"] == "several-texts"
    assert of_pairs["model"]["texts"] == 2


def test_the_card_names_the_inputs(beside: Trained, pairs: Trained) -> None:
    assert "(text: `review`, beside it: `price`, `shop`, label: `label`)" in (beside.folder / "README.md").read_text()
    assert "(text: `question` and `answer`, label: `label`)" in (pairs.folder / "README.md").read_text()


def test_a_model_of_one_text_knows_nothing_of_inputs(reviews: Trained) -> None:
    config = (reviews.folder / "config.json").read_text()
    assert '"inputs"' not in config
    assert '"columns"' not in config
    assert '"other_texts"' not in config


def test_a_row_is_answered(beside: Trained) -> None:
    said = glassformer("predict", beside.folder, json.dumps(ROW), json.dumps(ROW | {"shop": None, "review": " "}))
    first, second = said.out.splitlines()
    assert re.search(r"(?i)\tthe lamp came \[price=\S.*, shop=Berlin\]$", first)
    assert second.startswith("(no text)")
    found = glassformer("predict", beside.folder, "--json", json.dumps(ROW)).document["answers"][0]
    assert list(found)[:4] == ["review", "price", "shop", "prediction"]
    assert no_marks(said.out)


def test_a_value_changes_the_answer(beside: Trained) -> None:
    rows = [json.dumps(ROW | {"shop": shop}) for shop in ("BERLIN", "Ulm", "Bonn", None)]
    found = glassformer("predict", beside.folder, "--jsonl", stdin="\n".join(rows).encode()).out.splitlines()
    good = [json.loads(line)["probabilities"]["good"] for line in found]
    assert good[0] > max(good[1], good[3])
    assert len(set(good)) == 4, "a category that training never saw is neither known nor missing"


def test_a_table_is_answered(beside: Trained, pairs: Trained, tmp_path: Path) -> None:
    for model in (beside, pairs):
        out = tmp_path / f"{model.table.stem}.jsonl"
        said = glassformer("predict", model.folder, "--file", model.table, "--out", out)
        assert said.code == 0
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert len(lines) == 230
        assert no_marks(out.read_text() + said.err)
    one_by_one = glassformer("predict", pairs.folder, "--jsonl", stdin=out.read_bytes()).out.splitlines()
    again = [json.loads(line)["probabilities"] for line in one_by_one]
    assert again == [line["probabilities"] for line in lines]


def test_shards_are_answered(beside: Trained, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    for number in range(2):
        write_csv(tmp_path / "shards" / f"{number}.csv", sold(5), HEADER)
    write_csv(tmp_path / "shards" / "2.csv", [("a", "b")], ("review", "label"))
    failed = glassformer("predict", beside.folder, "--file", tmp_path / "shards", "--out", tmp_path / "out")
    assert failed.code == 2
    assert "2.csv has no column 'price'" in failed.err
    assert len((tmp_path / "out" / "0.csv").read_text().splitlines()) == 6


def test_evaluate_gives_the_baseline_the_same_inputs(beside: Trained, tmp_path: Path) -> None:
    said = glassformer("evaluate", beside.folder, beside.table, "--out", tmp_path)
    figures = json.loads((tmp_path / "metrics.json").read_text())
    tfidf = figures["duel"]["baselines"][-1]
    assert tfidf["metrics"]["accuracy"]["value"] > 0.9, "the words alone decide in half of the rows"
    assert no_marks(said.out + said.err + (tmp_path / "metrics.json").read_text())
    assert no_marks((tmp_path / "report.html").read_text())


def test_the_transformer_sees_what_two_texts_have_in_common(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "asked.csv", asked(400), ("question", "answer", "label"))
    flags = ("--text", "question", "--text", "answer", "--preset", "tiny", "--set", "model.counting=none")
    steps = ("--set", "training.min_steps_per_epoch=40", "--epochs", 3)
    found = glassformer("train", table, "--out", tmp_path / "m", *flags, *steps, "--json").document
    assert found["best"]["validation_accuracy"] > 0.95


def test_two_models_with_other_inputs_are_compared(beside: Trained, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    glassformer("train", beside.table, "--text", "review", "--out", alone, *QUICK)
    said = glassformer("compare", beside.folder, alone, beside.table)
    assert said.code == 0
    assert no_marks(said.out)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--columns", "pric"), "has no column 'pric' (--columns). Did you mean 'price'? It has:"),
        (("--columns", "price,price"), "--columns names the column 'price' twice; name it once."),
        (("--columns", "price", "--columns", "price"), "--columns names the column 'price' twice; name it once."),
        (("--columns", "price", "--text", "review", "--text", "review"), "--text names the column 'review' twice"),
        (
            ("--columns", "review,price", "--text", "review"),
            "'review' cannot be both --text and --columns; leave one out",
        ),
        (("--columns", "price,label"), "'label' looks like the label, but --columns names it as an input"),
        (("--columns", "label", "--label", "label"), "'label' cannot be both --columns and --label"),
        (("--columns", "review", "--text", "shop"), "a different value in nearly every row, so it is not a category"),
        (("--columns", ","), "--columns names no column"),
        (
            ("--text", "review", "--text", "shop", "--set", "model.design=vinh-mlp"),
            "model.design = 'vinh-mlp' reads one text, not 2",
        ),
    ],
)
def test_inputs_that_do_not_go_together_are_refused(
    beside: Trained, reviews: Trained, tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    given = [str(reviews.folder) if flag == "model" else flag for flag in flags]
    said = glassformer("train", beside.table, "--out", tmp_path / "m", *given)
    misused(said, words)
    assert not (tmp_path / "m").exists()


def test_rows_without_an_input_are_refused(beside: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [("a lamp", "3")], ("review", "price"))
    renamed = write_csv(tmp_path / "r.csv", [("a lamp", "3", "Ulm")], ("review", "price", "shops"))
    for arguments, words in (
        (
            ("predict", beside.folder, "--file", table),
            "t.csv has no column 'shop'; this model reads the text 'review' and",
        ),
        (("evaluate", beside.folder, table), "has no column 'shop'"),
        (
            ("predict", beside.folder, '{"review": "a lamp", "price": 12,5}'),
            "name enclosed in double quotes, before '5}'",
        ),
        (("predict", beside.folder, '{"review": "a lamp"'), "the row is not JSON: Expecting ',' delimiter, at its end"),
        (("predict", beside.folder, "--file", renamed), "Did you mean 'shops'? Rename or add the column"),
        (("predict", beside.folder, "a lamp"), "and got 'a lamp'; give a row as JSON: {"),
        (("predict", beside.folder, '{"review": "a lamp"}'), "the row has no 'price'"),
        (("predict", beside.folder, "--file", table, "--text", "review"), "by their names; leave it out"),
    ):
        misused(glassformer(*arguments), words)


def test_explain_says_which_word_is_of_which_input(beside: Trained, pairs: Trained, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    said = glassformer("explain", beside.folder, json.dumps(ROW), "--html", page, "--counterfactual")
    assert "shop=" in said.out
    assert "\nreview: the lamp came\n" in said.out
    assert no_marks(said.out + said.err + page.read_text())
    asked = {"question": "is it red 7", "answer": "it is red"}
    found = glassformer("explain", pairs.folder, json.dumps(asked), "--json").document
    assert found["text"] == "question: is it red 7\nanswer: it is red"
    assert [(word["word"], word["input"]) for word in found["words"]] == [
        ("is", "question"), ("it", "question"), ("red", "question"), ("7", "question"),
        ("it", "answer"), ("is", "answer"), ("red", "answer"),
    ]  # fmt: skip
    assert all(found["text"][word["start"] : word["end"]] == word["word"] for word in found["words"])
    total = sum(word["total"] for word in found["words"])
    assert abs(total + found["without_known_words"] - found["margin"]) < 1e-4, "Shapley values add up"
    for method in ("integrated-gradients", "occlusion", "rollout"):
        assert glassformer("explain", pairs.folder, json.dumps(asked), "--method", method).code == 0


def test_a_table_is_explained(pairs: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [("is it red", "it is red"), ("", "")], ("question", "answer"))
    said = glassformer("explain", pairs.folder, "--file", table, "--out", tmp_path / "why.csv")
    assert said.code == 0
    assert no_marks((tmp_path / "why.csv").read_text())


def test_the_explanation_of_one_text_names_no_input(reviews: Trained) -> None:
    found = glassformer("explain", reviews.folder, "good film", "--json").document
    assert all("input" not in part for part in [*found["words"], *found["ngrams"]])


def test_a_counterfactual_changes_the_value_of_a_column(beside: Trained) -> None:
    row = {"review": "the lamp is here", "price": None, "shop": "Berlin"}
    found = glassformer("explain", beside.folder, json.dumps(row), "--counterfactual", "--json").document
    change = found["counterfactual"]["changes"][0]
    assert change["before"].lower() == "shop=berlin"
    assert change["after"].startswith("shop=")
    assert found["text"][change["start"] : change["end"]] == change["before"]
    assert no_marks(json.dumps(found, ensure_ascii=False))


def test_the_report_says_what_each_input_gives(beside: Trained, tmp_path: Path) -> None:
    glassformer("evaluate", beside.folder, beside.table, "--out", tmp_path)
    figures = {each["name"]: each for each in json.loads((tmp_path / "metrics.json").read_text())["inputs"]}
    assert list(figures) == ["review", "price", "shop"]
    assert figures["shop"]["gain"]["low"] > 0.05, "the shop decides about half of the rows"
    assert figures["price"]["gain"]["value"] < 0.05, "the price decides nothing"
    assert figures["shop"]["accuracy"] - figures["shop"]["accuracy_without"] == pytest.approx(
        figures["shop"]["gain"]["value"]
    )
    report = (tmp_path / "report.html").read_text()
    assert "What each input gives" in report
    assert "shop<small>column</small>" in report


def test_one_text_has_no_such_section(reviews: Trained, tmp_path: Path) -> None:
    glassformer("evaluate", reviews.folder, reviews.table, "--out", tmp_path)
    assert "What each input gives" not in (tmp_path / "report.html").read_text()


def test_python_takes_rows(beside: Trained) -> None:
    classifier = TextClassifier.load(beside.folder)
    rows = [ROW, ROW | {"shop": None, "price": "12,50"}]
    found = classifier.predict_proba(rows)
    assert np.array_equal(found, classifier.predict_proba(pl.DataFrame(rows, strict=False)))
    assert found[0].tolist() != found[1].tolist()
    assert classifier.explain(ROW).text.endswith("\nreview: the lamp came")
    wrongs: list[Any] = [["the lamp came"], "the lamp came", [{"review": "x"}]]
    for wrong in wrongs:
        with pytest.raises(InputError, match="this model reads the text 'review' and the columns 'price' and 'shop'"):
            classifier.predict(wrong)
    with pytest.raises(InputError, match="give a row"):
        classifier.explain("the lamp came")


def test_an_export_reads_rows_too(beside: Trained, tmp_path: Path) -> None:
    """Those of two texts: see `tests/matrix/things.py`."""
    with unchecked_shapes():
        said = glassformer("export", beside.folder, "--format", "onnx", "--out", tmp_path / "onnx")
    assert said.code == 0, said.err
    assert f"""next: glassformer predict {tmp_path / "onnx"} '{{"review": """ in said.err
    card = (tmp_path / "onnx" / "README.md").read_text()
    assert """glassformer predict FOLDER '{"review": """ in card
    for hint in (said.err, card):
        assert "Berlin" not in hint, "a category may name a person"
        assert '"shop": "…"' in hint
    ours, theirs = (
        glassformer("predict", folder, "--json", json.dumps(ROW)).document["answers"][0]["probabilities"]
        for folder in (beside.folder, tmp_path / "onnx")
    )
    assert ours == pytest.approx(theirs, abs=1e-5)


def test_what_takes_one_text_refuses_such_a_model(pairs: Trained, tmp_path: Path) -> None:
    arguments = ("export", pairs.folder, "--format", "transformers", "--out", tmp_path / "t")
    misused(glassformer(*arguments), "gives a model one text")


def test_a_student_reads_the_rows_of_its_teacher(beside: Trained, tmp_path: Path) -> None:
    small = ("--into", "tiny", "--set", "model.d_model=16", "--set", "model.d_ff=24", *QUICK[2:6])
    said = glassformer("distil", beside.folder, beside.table, "--out", tmp_path / "s", *small)
    assert said.code == 0, said.err
    assert '"price"' in next(line for line in said.err.splitlines() if line.startswith("next: "))
    config = json.loads((tmp_path / "s" / "config.json").read_text())
    assert config["inputs"] == json.loads((beside.folder / "config.json").read_text())["inputs"]
    lacking = write_csv(tmp_path / "new.csv", [("a film", "3")] * 20, ("review", "price"))
    for source, words in ((lacking, "has no column 'shop'"), ("imdb", "imdb brings one text a row")):
        misused(glassformer("distil", beside.folder, source, "--out", tmp_path / "t", *small), words)


def test_snapshots_write_each_token_of_a_row_as_in_its_text(pairs: Trained, tmp_path: Path) -> None:
    flags = ("--text", "question", "--text", "answer", "--snapshots", "--out", tmp_path / "m")
    said = glassformer("train", pairs.table, *flags, *QUICK)
    assert said.code == 0, said.err
    shown = json.loads((tmp_path / "m" / "snapshots" / "snapshots.json").read_text())["texts"][0]["tokens"]
    assert shown[0] == "(start)"
    assert shown.count("(next text)") == 1
    assert not any(SEPARATOR in token for token in shown)


def test_the_server_takes_rows(beside: Trained, pairs: Trained, reviews: Trained) -> None:
    models = {
        name: ServedModel.load(name, model.folder, device="cpu")
        for name, model in (("pairs", pairs), ("beside", beside), ("reviews", reviews))
    }
    asked = {"question": "is it red", "answer": "it is red"}
    with TestClient(create_app(models)) as client:
        found = client.post("/predict", json={"texts": [asked, asked | {"answer": "no"}], "explain": True})
        assert found.status_code == 200, found.text
        ours = glassformer("predict", pairs.folder, "--json", json.dumps(asked)).document["answers"][0]
        assert found.json()["answers"][0]["probabilities"] == ours["probabilities"]
        assert found.json()["answers"][0]["explanation"]["text"] == "question: is it red\nanswer: it is red"
        assert no_marks(found.text)
        assert client.post("/explain", json={"text": asked}).json()["words"][-1]["word"] == "red"
        heads = client.post("/heads", json={"text": asked}).json()
        assert [word["word"] for word in heads["words"]] == ["is", "it", "red", "it", "is", "red"]
        inputs = client.get("/model").json()["models"][1]["inputs"]
        assert inputs["texts"] == ["review"]
        price, shop = inputs["columns"]
        assert len(price["values"]) == len(price["edges"]) + 1 == 10
        assert shop["kind"] == "category"
        assert sorted(value.lower() for value in shop["values"]) == ["berlin", "ulm"]
        for body, says in (
            ({"text": "is it red"}, "give a row: {"),
            ({"text": {"question": "x"}}, "the row has no 'answer'"),
            ({"text": asked, "model": "reviews"}, "the model reviews reads one text, not a row of several inputs"),
        ):
            refused = client.post("/predict", json=body)
            assert refused.status_code == 422
            assert says in refused.json()["reason"]


def test_the_server_answers_a_table_of_rows(beside: Trained, reviews: Trained) -> None:
    model = ServedModel.load("beside", beside.folder, device="cpu")
    with TestClient(create_app({"beside": model})) as client:
        found = client.post("/table", params={"name": "sold.csv"}, content=beside.table.read_bytes())
        result = json.loads(found.text.splitlines()[-1])["result"]
        assert result["measured"][0]["contestants"][-1]["accuracy"]["value"] > 0.8
        assert no_marks(found.text)
        assert result["first_rows"][0].keys() == {"review", "price", "shop"}
        refused = client.post(
            "/table", params={"name": "sold.csv", "text": "review"}, content=beside.table.read_bytes()
        )
        assert "the model finds the text 'review' and the columns 'price' and 'shop' by their names" in refused.text
    other = ServedModel.load("reviews", reviews.folder, device="cpu")
    with TestClient(create_app({"beside": model, "reviews": other})) as client:
        found = client.post("/table", params={"name": "sold.csv"}, content=beside.table.read_bytes())
        assert "these models read different inputs" in found.text


def test_python_learns_from_rows() -> None:
    rows = [dict(zip(HEADER, row, strict=True)) for row in sold(120)]
    labels = [row.pop("label") for row in rows]
    settings = {"training.min_steps_per_epoch": 5, "validation.min_rows": 100}
    classifier = TextClassifier("tiny", epochs=1, text="review", columns=["price", "shop"], settings=settings)
    assert clone(classifier).get_params()["columns"] == ["price", "shop"]
    classifier.fit(pl.DataFrame(rows), labels)
    inputs = classifier.predictor_.trained.config.inputs
    assert inputs is not None
    assert inputs.names == ("review", "price", "shop")
    assert classifier.score(rows, labels) > 0.8
    given = [{"review": "fine", "price": price, "shop": "Ulm"} for price in (np.int64(3), np.float32(3), 3)]
    assert len(set(map(tuple, classifier.predict_proba(given).tolist()))) == 1
    missing = [given[0] | {"price": value} for value in (NAType(), None)]
    assert len(set(map(tuple, classifier.predict_proba(missing).tolist()))) == 1
    assert classifier.explain(rows[0]).words[0].input == "price"


@pytest.mark.parametrize(
    ("settings", "rows", "words"),
    [
        ({"columns": ["shop"]}, [{"shop": "Ulm"}], "name it, as in `text='review'`"),
        ({"text": "review", "columns": ["shop"]}, [{"review": "x"}], r"rows\[0\] has no 'shop'"),
        ({"text": ["a", "b"]}, ["x"], r"rows\[0\] is 'x', not a row; `text=` and `columns=` name 'a', 'b'"),
        ({"text": ["a", "b"]}, pl.DataFrame({"a": ["x"]}), "the frame has no column 'b'"),
        ({"text": ["a", "b"]}, [{"a": "x", "b": 7}], r"rows\[0\]: the text 'b' is 7, not a string"),
        ({"text": 7}, ["x"], "`text=7`: give the name of a column, or a list of names"),
        ({"text": "a", "columns": "b"}, [{"a": "x", "c": 1}], r"rows\[0\] has no 'b'"),
        ({"text": ["a", "a"]}, [{"a": "x"}], "names the column 'a' twice"),
        ({"text": "a", "columns": ["b"]}, [{"a": "x", "b": 1}] * 4, "in every row"),
    ],
)
def test_python_refuses_rows_that_lack_an_input(settings: dict[str, Any], rows: list[Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        TextClassifier("tiny", **settings).fit(rows, ["yes", "no"] * (len(rows) // 2) or ["yes"])


@pytest.mark.parametrize("which", ["beside", "pairs"])
def test_a_trained_model_learns_another_table_and_more_rows(
    which: str, beside: Trained, pairs: Trained, tmp_path: Path
) -> None:
    model, rows, header = (
        (beside, sold(80), HEADER) if which == "beside" else (pairs, asked(80), ("question", "answer", "label"))
    )
    table = write_csv(tmp_path / "other.csv", rows[-60:], header)
    folder = tmp_path / "i"
    said = glassformer("train", table, "--init", model.folder, "--out", folder, *QUICK[2:])
    assert said.code == 0, said.err
    assert f"weights: {model.folder}, the head too" in said.err
    ours, theirs = (json.loads((each / "config.json").read_text()) for each in (folder, model.folder))
    assert ours["inputs"] == theirs["inputs"]  # not learned anew from the other table
    found = glassformer("evaluate", folder, table, "--json").document
    assert found["data"]["training_rows"] is not None

    new = [(f"so {number} {first}", *others) for number, (first, *others) in enumerate(rows[:30])]
    added = write_csv(tmp_path / "new.csv", new, header)
    said = glassformer("train", "--init", model.folder, "--add", added, "--out", tmp_path / "a", *QUICK[2:])
    assert said.code == 0, said.err
    assert "added: 2" in said.err
    assert json.loads((tmp_path / "a" / "config.json").read_text())["inputs"] == theirs["inputs"]
    assert no_marks(said.err)


def test_rows_are_added_to_a_small_table_of_two_texts(tmp_path: Path) -> None:
    header = ("question", "answer", "label")
    old, new = (
        write_csv(tmp_path / "old.csv", asked(60), header),
        write_csv(tmp_path / "new.csv", asked(90)[60:], header),
    )
    alone = ("--set", "training.epochs=0", "--preset", "tiny")
    assert (
        glassformer("train", old, "--text", "question", "--text", "answer", *alone, "--out", tmp_path / "m").code == 0
    )
    said = glassformer("train", "--init", tmp_path / "m", "--add", new, "--out", tmp_path / "a")
    assert said.code == 0, said.err
    assert "Training begins anew" in said.err
    assert json.loads((tmp_path / "a" / "config.json").read_text())["model"]["texts"] == 2


def test_a_start_from_other_inputs_is_refused(beside: Trained, pairs: Trained, tmp_path: Path) -> None:
    out = ("--init", beside.folder, "--out", tmp_path / "i")
    said = glassformer("train", beside.table, "--columns", "shop", *out)
    misused(said, "reads the text 'review' and the columns 'price' and 'shop', by their names; leave out --text and")
    misused(glassformer("train", pairs.table, *out), "has no column 'review' (--text)")
    with pytest.raises(UsageError) as error:
        TextClassifier(init=str(pairs.folder)).fit(["red", "blue"] * 9, ["a", "b"] * 9)
    assert "rows[0] is 'red', not a row; this model reads the texts 'question' and 'answer'" in error.value.message


def test_a_value_that_is_not_a_number_is_read_as_missing_and_named_once(beside: Trained, tmp_path: Path) -> None:
    odd, none = ROW | {"price": "cheap"}, ROW | {"price": None}
    words = "has 'cheap' in the column 'price', which is not a number; such values are read as missing"
    said = glassformer("predict", beside.folder, *map(json.dumps, (none, odd, odd)))
    assert said.err.count("'price'") == 1
    assert f"warning: text 2 {words}" in said.err
    piped = glassformer("predict", beside.folder, "--jsonl", stdin=f"{json.dumps(odd)}\n".encode() * 2)
    assert piped.err.count(f"text 1 {words}") == 1
    table = write_csv(tmp_path / "t.csv", [("a lamp", price, "Ulm") for price in ("", "3", "cheap", "low")], HEADER[:3])
    assert glassformer("predict", beside.folder, "--file", table).err.count(f"warning: row 3 {words}") == 1
    assert f"row 3 {words}" in glassformer("explain", beside.folder, "--file", table).err
    assert "'price'" not in glassformer("predict", beside.folder, json.dumps(none)).err
    classifier = TextClassifier.load(beside.folder)
    with pytest.warns(UserWarning, match=r"^rows\[1\] has 'cheap' in 'price', which is not a number"):
        classifier.predict([none, odd, odd])
