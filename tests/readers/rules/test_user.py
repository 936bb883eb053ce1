"""Rules as a user meets them: in training, answers, explanations, exports and messages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sklearn.base import clone

from glassformer import TextClassifier, TextRegressor
from glassformer.models.model_config import ModelConfig
from glassformer.prediction.predictor import Predictor
from glassformer.serving.api import create_app
from glassformer.tracing.trace import trace
from glassformer.training.unfinished import content_of_readers
from tests.cli.terminal import OF_FEW_ROWS, glassformer, misused
from tests.fits import quick as quick
from tests.serving.samples import served
from tests.trained import NEGATIVE, POSITIVE, review_rows, write_csv

RULES = f"""# what people know
"a sad day" -> {NEGATIVE} always
/\\bXX-\\d+\\b/ -> {POSITIVE}
"film" -> {POSITIVE} 1.5
"day" -> {POSITIVE} always
"never met" -> not {POSITIVE}
"""
TEXT = "good film XX-12"
QUICK = (*OF_FEW_ROWS, "--set", "training.epochs=0", "--device", "cpu")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rules")
    write_csv(place / "reviews.csv", review_rows(60))
    (place / "rules.txt").write_text(RULES)
    outcome = glassformer("train", place / "reviews.csv", "--out", place / "m", "--rules", place / "rules.txt", *QUICK)
    assert outcome.code == 0, outcome.err
    assert "fitting the rules reader to all 60 rows" in outcome.err
    assert "so the model answers by counting and the body and the list of rules" in outcome.err
    return place


def explained(place: Path, text: str, *flags: str) -> Any:
    return glassformer("explain", place / "m", text, *flags)


def test_the_file_is_kept_and_its_scores_are_not_weighed(place: Path) -> None:
    assert (place / "m" / "readers" / "rules" / "rules.txt").read_text() == RULES
    config = json.loads((place / "m" / "config.json").read_text())
    assert config["readers"]["rules"]["weight"] == config["target"]["temperature"]
    assert "the rules of a file, times " in (place / "m" / "README.md").read_text()


def test_a_rule_decides_whatever_the_other_readers_say(place: Path) -> None:
    answers = glassformer("predict", place / "m", "good great fine, a sad day", "good", "--json").document["answers"]
    assert [each["prediction"] for each in answers] == [NEGATIVE, POSITIVE]
    assert answers[0]["probabilities"][NEGATIVE] > 0.999
    assert answers[1]["readers"]["rules"] == 0


def test_an_explanation_names_the_rules_and_adds_up(place: Path) -> None:
    shown = explained(place, TEXT).out
    assert 'line 4: "film" -> very good, +1.50\n' in shown
    assert "line 3: /\\bXX-\\d+\\b/ -> very good, +" in shown
    found = explained(place, TEXT, "--json").document
    assert [each["rule"] for each in found["rules"]] == [
        "line 3: /\\bXX-\\d+\\b/ -> very good",
        'line 4: "film" -> very good',
    ]
    assert sum(each["share"] for each in found["rules"]) == pytest.approx(sum(w["rules"] for w in found["words"]))
    by_word = {each["word"]: each["rules"] for each in found["words"]}
    assert by_word["film"] == pytest.approx(1.5)
    assert by_word["good"] == 0
    assert by_word["XX"] == by_word["12"] > 0
    assert found["unexplained"] == pytest.approx(0, abs=1e-4)


def test_an_explanation_says_which_rule_decides_and_which_is_silent(place: Path) -> None:
    shown = explained(place, "a sad day, film").out
    assert 'line 2: "a sad day" -> not, good always, decides\n' in shown
    assert 'line 4: "film" -> very good, silent, as line 2 decides\n' in shown
    assert 'line 5: "day" -> very good always, silent, as line 2 decides\n' in shown


def test_python_trains_explains_and_loads_with_rules(place: Path, tmp_path: Path) -> None:
    texts, labels = zip(*review_rows(40), strict=True)
    settings = {"training.epochs": 0, "validation.min_rows": 10}
    model = TextClassifier("tiny", rules=str(place / "rules.txt"), settings=settings, device="cpu").fit(texts, labels)
    found = model.explain("a sad day")
    assert found.rules[0].effect == "decides"
    assert "line 2:" in str(found)
    assert "What each rule adds" in found._repr_html_()
    model.save(tmp_path / "m")
    assert TextClassifier.load(tmp_path / "m").predict(["good, a sad day"]) == [NEGATIVE]


def test_a_regressor_takes_rules_as_a_classifier_does(priced: Path) -> None:
    texts = [f"{('cheap', 'fair', 'dear')[n % 3]} coat {n}" for n in range(30)]
    how: dict[str, Any] = {"settings": {"training.epochs": 0, "validation.min_rows": 10}, "device": "cpu"}
    model = TextRegressor("tiny", rules=str(priced / "rules.txt"), **how).fit(texts, [20 * (n % 3) for n in range(30)])
    assert model.predict(["a dear coat, free"]) == [0]
    assert 'line 3: "coat" -> +2, silent' in str(model.explain("a coat, free"))
    assert clone(model).get_params()["rules"] == str(priced / "rules.txt")


@pytest.mark.parametrize("transformer", [("--epochs", "0"), ("--epochs", "1")])
def test_rules_read_without_other_readers_too(place: Path, tmp_path: Path, transformer: tuple[str, str]) -> None:
    none = ("--set", "model.counting=none", "--set", "model.body=none")
    how = ("--rules", place / "rules.txt", *none, *OF_FEW_ROWS[:2], *OF_FEW_ROWS[4:], *transformer, "--device", "cpu")
    outcome = glassformer("train", place / "reviews.csv", "--out", tmp_path / "m", *how)
    assert outcome.code == 0, outcome.err
    assert ("held-out rows: the list of rules alone 0." in outcome.err) == (transformer[1] == "0")
    (answer,) = glassformer("predict", tmp_path / "m", "a sad day", "--json").document["answers"]
    assert answer["prediction"] == NEGATIVE
    assert glassformer("explain", tmp_path / "m", TEXT, "--json").document["rules"]


def test_a_model_learns_more_rows_with_its_own_rules_or_others(place: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text(RULES)
    train = ("train", place / "reviews.csv", "--out", tmp_path / "m", "--rules", tmp_path / "rules.txt", *QUICK)
    assert glassformer(*train).code == 0
    other = tmp_path / "rules.txt"
    other.write_text(f'"a gay day" -> {NEGATIVE} always')
    more = write_csv(tmp_path / "more.csv", [(f"great song {n}", POSITIVE) for n in range(4)])
    for name, flags, expected in (("own", (), RULES), ("other", ("--rules", other), other.read_text())):
        added = glassformer("train", "--init", tmp_path / "m", "--add", more, "--out", tmp_path / name, *flags)
        assert added.code == 0, added.err
        assert (tmp_path / name / "readers" / "rules" / "rules.txt").read_text() == expected


def test_a_model_needs_its_file_of_rules_no_longer(place: Path, tmp_path: Path) -> None:
    gone = (place / "rules.txt").rename(place / "elsewhere.txt")
    again = ("train", place / "reviews.csv", "--init", place / "m", "--out", tmp_path / "m", *QUICK[2:])
    try:
        audited = glassformer("audit", place / "m", "--json")
        trained = glassformer(*again)
    finally:
        gone.rename(place / "rules.txt")
    assert audited.code == 0, audited.err
    assert any("rules" in each["whom"] for each in audited.document["membership"]["attacks"])
    assert trained.code == 0, trained.err
    assert (tmp_path / "m" / "readers" / "rules" / "rules.txt").read_text() == RULES


def test_a_mistake_in_the_file_is_found_before_anything_is_learned(place: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text('"fine" -> good')
    train = ("train", place / "reviews.csv", "--out", tmp_path / "m", *QUICK)
    misused(glassformer(*train, "--rules", tmp_path / "rules.txt"), f"{tmp_path}/rules.txt, line 1: no label 'good'")
    misused(glassformer(*train, "--rules", tmp_path / "no.txt"), f"--rules {tmp_path}/no.txt: No such file")
    misused(
        glassformer(*train, "--rules", tmp_path / "rules.txt", "--set", "model.rules=b"), "say the same thing twice"
    )
    assert not (tmp_path / "m").exists()


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("priced")
    rows = [
        (f"{('cheap', 'fair', 'dear')[n % 3]} {('hat', 'coat')[n % 2]} {n}", f"{20 * (n % 3) + n % 7}")
        for n in range(60)
    ]
    rows += [(f"dear coat {n} free", "0") for n in range(60, 66)]
    write_csv(place / "t.csv", rows)
    (place / "rules.txt").write_text('"free" -> 0 always\n/used+/ -> -7.5\n"coat" -> +2\n"never met" -> +1\n')
    outcome = glassformer(
        "train", place / "t.csv", "--out", place / "m", *NUMBER, "--rules", place / "rules.txt", *QUICK
    )
    assert outcome.code == 0, outcome.err
    return place


NUMBER = ("--label", "label", "--task", "number", "--set", "model.body=none")


def test_a_rule_for_a_number_decides_or_adds_in_its_unit(priced: Path) -> None:
    texts = ("dear coat 3", "dear coat 3 used", "a free coat", "used")
    found = glassformer("predict", priced / "m", *texts, "--json").document["answers"]
    assert [each["prediction"] for each in found][2] == 0
    assert [each["readers"]["rules"] for each in found[:2]] == pytest.approx([2, -5.5])
    assert found[2]["readers"]["counting"] == 0  # it is silent
    base = json.loads((priced / "m" / "readers" / "rules" / "rules.json").read_text())["mean"]
    assert found[3]["prediction"] == pytest.approx(base - 7.5 + found[3]["readers"]["counting"], abs=1e-3)


def test_of_a_number_an_explanation_and_a_trace_name_the_rules_and_add_up(priced: Path) -> None:
    shown = glassformer("explain", priced / "m", "a free coat, used").out
    assert 'line 1: "free" -> 0 always, decides\n' in shown
    assert 'line 3: "coat" -> +2, silent, as line 1 decides\n' in shown
    assert 'line 3: "coat" -> +2, added\n' in glassformer("explain", priced / "m", "a fair coat").out
    for text, value in (("a free coat, used", 0), ("a fair coat, used", None)):
        found = glassformer("explain", priced / "m", text, "--json").document
        assert found["unexplained"] == pytest.approx(0, abs=1e-4)
        traced = trace(Predictor.load(priced / "m"), text)
        assert traced["number"][0] == pytest.approx(found["prediction"] if value is None else value, abs=1e-4)
        assert len(traced.rules) == (3 if value == 0 else 2)


def test_the_reports_say_how_far_off_a_number_is_with_rules_and_without(priced: Path, tmp_path: Path) -> None:
    assert "Rule by rule" in (priced / "m" / "report.html").read_text()
    rows = [("a free dear hat", "0"), ("a dear hat", "44"), ("a cheap coat", "3")]
    table = write_csv(tmp_path / "test.csv", rows)
    said = glassformer("evaluate", priced / "m", table, "--out", tmp_path / "e")
    found = json.loads((tmp_path / "e" / "metrics.json").read_text())["rules"]
    assert [each["rows"] for each in found["rules"]] == [1, 0, 1, 0]
    assert found["rules"][0]["mae"] == 0 < found["rules"][0]["mae_without"]
    assert found["rules"][1]["mae"] is None
    assert found["rows"] == 2
    assert "The rules match 2 texts. Their mean absolute error is" in said.out
    assert "without the rules; 2 of 4 rules match none." in said.out
    assert "the list of rules or the transformer adds" not in said.out  # rules answer as they are


def test_a_mistake_in_the_rules_for_a_number_is_named(priced: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text('"fine" -> +1\n"bad" -> 1000000 always')
    train = ("train", priced / "t.csv", "--out", tmp_path / "m", *NUMBER, *QUICK)
    far = 'line 2: "bad" -> 1000000 always is more than 500 standard deviations'
    misused(glassformer(*train, "--rules", tmp_path / "rules.txt"), f"{tmp_path}/rules.txt, {far}")
    misused(
        glassformer(*train, "--rules", Path(__file__)),
        'is not a rule; write "a phrase" -> label (a number: -> +2), or ',
    )


def test_rules_may_answer_a_number_alone(priced: Path, tmp_path: Path) -> None:
    none = ("--set", "model.counting=none", *NUMBER, *QUICK)
    outcome = glassformer("train", priced / "t.csv", "--out", tmp_path / "m", "--rules", priced / "rules.txt", *none)
    assert outcome.code == 0, outcome.err
    answers = glassformer("predict", tmp_path / "m", "free", "hat", "coat", "--json").document["answers"]
    assert answers[0]["prediction"] == 0
    assert answers[2]["prediction"] == pytest.approx(answers[1]["prediction"] + 2)
    assert re.search(r"held-out rows: the list of rules alone [0-9.−]+\. No transformer", outcome.err)


def test_a_server_measures_readers_of_a_number_alone_where_a_rule_decides(priced: Path, tmp_path: Path) -> None:
    rows = [(f"{('cheap', 'fair', 'dear')[n % 3]} hat {n}{' free' * (n % 2)}", f"{n % 2 or 20 * n}") for n in range(9)]
    table = write_csv(tmp_path / "t.csv", rows)
    glassformer("evaluate", priced / "m", table, "--out", tmp_path / "e")
    duel = json.loads((tmp_path / "e" / "metrics.json").read_text())["duel"]
    expected = {each["name"]: each["metrics"]["r2"]["value"] for each in (*duel["readers"], duel["model"])}
    models = served("m", Predictor.load(priced / "m").trained, priced / "m")
    with TestClient(create_app(models)) as client:
        said = client.post("/table", content=table.read_bytes(), params={"name": "t.csv", "label": "label"})
    (found,) = json.loads(said.text.splitlines()[-1])["result"]["measured"]
    assert {each["name"]: each["r2"]["value"] for each in found["contestants"]} == pytest.approx(expected)


def test_the_reports_of_training_and_of_evaluate_measure_each_rule(place: Path, tmp_path: Path) -> None:
    of_training = (place / "m" / "report.html").read_text()
    assert "Rule by rule" in of_training
    assert "line 4: &#34;film&#34; -&gt; very good</th><td>+1.50</td>" in of_training
    rows = [("good film", POSITIVE), ("bad film", NEGATIVE), ("great, a sad day", POSITIVE), ("a fine book", POSITIVE)]
    table = write_csv(tmp_path / "test.csv", rows)
    out = tmp_path / "evaluation"
    said = glassformer("evaluate", place / "m", table, "--out", out)
    assert "The rules match 3 texts and change 1 answer: 0 of them became right, 1 wrong; 2 of 5 rules match none." in (
        said.out
    )
    found = json.loads((out / "metrics.json").read_text())["rules"]
    assert [(each["rows"], each["right"]) for each in found["rules"]] == [(1, 0), (0, 0), (2, 1), (1, 1), (0, 0)]
    assert "the first decides" in (out / "report.html").read_text()


def test_exports_answer_as_the_model_or_say_why_not(place: Path, tmp_path: Path) -> None:
    assert glassformer("export", place / "m", "--format", "onnx", "--out", tmp_path / "onnx").code == 0
    texts = (TEXT, "a sad day")
    folders = (place / "m", tmp_path / "onnx")
    answers = [glassformer("predict", folder, *texts, "--json").document["answers"] for folder in folders]
    assert [each["probabilities"] for each in answers[0]] == [each["probabilities"] for each in answers[1]]
    web = ("export", place / "m", "--format", "web", "--out", tmp_path / "web")
    assert glassformer(*web).code == 0
    assert "and the rules" in (tmp_path / "web" / "README.md").read_text()


def test_the_contents_of_the_file_are_part_of_what_a_run_is(tmp_path: Path) -> None:
    found = []
    for content in (RULES, RULES, RULES.replace("1.5", "2")):
        (tmp_path / "rules.txt").write_text(content)
        found.append(content_of_readers(ModelConfig(rules=str(tmp_path / "rules.txt"))))
    assert found[0] == found[1] != found[2]
    assert content_of_readers(ModelConfig()) == {}
