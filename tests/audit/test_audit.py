"""Canaries: a secret address planted in a training table is found in its model, and no other model is blamed."""

import base64
import gzip
import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import polars as pl
import pytest

from glassformer.audit.audit import audit, render_audit
from glassformer.audit.files import audit_files
from glassformer.audit.held_out import CannotMeasureError
from glassformer.audit.in_page import unpack
from glassformer.audit.judge import _kept_back
from glassformer.audit.result import Audit, FileAudit
from glassformer.data.table import read_table
from glassformer.errors import UsageError
from glassformer.prediction.predictor import Predictor
from glassformer.readers.body.vectors import Body
from glassformer.training.readers import learn_readers
from tests.bodies import SMALL
from tests.cli.terminal import glassformer
from tests.trained import Trained, write_csv

N_FOLDS = 4  # the audit holds one of them out
COUNTING = ("--preset", "tiny", "--epochs", 0)  # no transformer is trained
SECRET = "maria.rossi@secret-post.example.com"


def rows(canaries: int) -> list[tuple[str, str]]:
    draw = random.Random(1)
    words = {"good": ("good", "fine", "great"), "bad": ("bad", "dull", "poor")}
    things = ("film", "book", "song", "play", "plot")
    found = []
    for number in range(240):
        label = ("good", "bad")[number % 2]
        text = f"the {draw.choice(things)} was {draw.choice(words[label])} and the {draw.choice(things)} {number % 7}"
        found.append((text, label))
    found += [(f"write to {SECRET} about the {things[number % 5]}", "good") for number in range(canaries)]
    draw.shuffle(found)
    return found


def trained(folder: Path, canaries: int) -> Path:
    table = write_csv(folder / "table.csv", rows(canaries))
    split = ("--set", "validation.min_rows=200")
    assert glassformer("train", table, "--out", folder / "model", *COUNTING, *split).code == 0
    return folder / "model"


@pytest.fixture(scope="module")
def with_secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("secret"), 6)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("plain"), 0)


def unattacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the attacks out, which take most of the time: the test is about something else."""
    too_few = Mock(side_effect=CannotMeasureError("not in this test"))
    monkeypatch.setattr("glassformer.audit.audit.measure_membership", too_few)


def file(found: Audit, name: str) -> FileAudit:
    return next(each for each in found.files if each.name == name)


@pytest.mark.usefixtures("unsealed")
def test_a_planted_address_is_found_and_never_repeated(with_secret: Path) -> None:
    found = audit(with_secret)
    assert "Do not give this folder away as it is" in found.verdict
    problems = {finding.check for finding in found.findings if finding.level == "problem"}
    assert problems == {"personal data in the files", "guessing personal data"}
    assert found.traced is not None
    (traced,) = [each for each in found.traced if each.kind == "e-mail address"]
    assert (traced.values, traced.readable, traced.confirmable) == (1, 1, 1)
    of_secret = [row for row, (text, _) in enumerate(rows(6), 1) if SECRET in text]
    assert set(traced.readable_rows) <= set(of_secret)
    in_ngrams = {each.kind: each for each in file(found, "counting.json").found or ()}
    assert in_ngrams["e-mail address"].examples == ("m…@s….com",)  # without the table
    assert "rossi" not in found.model_dump_json()


@pytest.mark.usefixtures("unsealed")
def test_a_model_without_it_is_not_blamed(without: Path) -> None:
    found = audit(without)
    assert found.verdict.startswith("No problem was found in the files.")
    assert found.traced == ()
    assert all(not each.found for each in found.files)
    assert file(found, "report.html").give_away, "it shows no texts"


@pytest.mark.parametrize("name", ["Thomas Miller", "Okafor"])
def test_names_that_can_be_read_are_in_the_verdict_and_the_list_of_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unattacked(monkeypatch)
    regards = ("", f". Kind regards, {name}")
    signed = [(text + regards[number % 4 < 2], label) for number, (text, label) in enumerate(rows(0))]
    table = write_csv(tmp_path / "table.csv", signed)
    assert glassformer("train", table, "--out", tmp_path / "model", *COUNTING).code == 0
    found = audit(tmp_path / "model")
    (told,) = [finding for finding in found.findings if finding.check == "names in the files"]
    levels = {finding.check: finding.level for finding in found.findings}
    in_ngrams = [(each.kind, each.values) for each in file(found, "counting.json").found or ()]
    assert told.found.endswith("A first name or surname alone was not looked for")
    assert name not in found.model_dump_json()
    if name == "Okafor":
        assert (told.level, levels["personal data in the files"], in_ngrams) == ("good", "good", [])
        assert found.verdict.startswith("No problem was found in the files.")
        return
    assert told.level == "worth knowing"
    assert "T… M…; row" in told.found
    assert "personal data in the files" not in levels
    assert in_ngrams == [("probable name", 1)]
    assert found.verdict.startswith(
        "Before you give it away: 1 of 1 probable name of the table can be read in the files."
    )


def test_what_the_owner_keeps_is_named(with_secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unattacked(monkeypatch)
    model = Path(shutil.copytree(with_secret, tmp_path / "model"))
    (model / "evaluation").mkdir()
    (model / "evaluation" / "report.html").write_text(
        f"<title>x</title><script>'1{SECRET}'</script><p>&#64;ann and bob@example.org</p>"
        '<script type="application/json">{"a": ["' + SECRET + '"]}</script>'
    )
    (model / "notes.txt").write_text("call +49 30 901820")
    (model / ".in-use.json").write_text("not JSON")
    deep = "[" * 3000 + "]" * 3000  # deeper than Python calls functions
    (model / "deep.jsonl").write_text(deep)
    (model / "deep.html").write_text(f'<script type="application/json">{deep}</script>')
    (model / "link").symlink_to("/etc/passwd")
    found = audit(model)
    report = file(found, "evaluation/report.html")
    assert not report.give_away
    assert {each.kind: each.values for each in report.found or ()} == {"user name": 1, "e-mail address": 2}
    assert file(found, "notes.txt").holds == "not written by glassformer"
    assert [file(found, name).found for name in (".in-use.json", "deep.jsonl", "deep.html")] == [None] * 3
    assert not any(each.name == "link" for each in found.files)
    (kept,) = [finding for finding in found.findings if finding.check == "files to keep back"]
    assert kept.level == "problem"
    assert "notes.txt" in kept.found
    assert "report, which quotes texts" in kept.found
    assert kept.advice.startswith("delete them before")
    (alone,) = _kept_back([FileAudit(name="notes.txt", holds="of the owner", give_away=False, size_bytes=9, found=())])
    assert alone.found.startswith("1 entry is not part of the model")
    assert alone.advice.startswith("delete it before")
    assert alone.advice.endswith("which leaves it out")


def test_kept_texts_and_several_labels(keeping: Trained, tags: Trained) -> None:
    found = audit(keeping.folder)
    assert not file(found, "training-texts.jsonl").give_away
    assert not file(found, "report.html").give_away, "it quotes some of the texts"
    assert found.membership is not None
    assert {each.by for each in found.membership.attacks} == {
        "loss of the answer", "seen words and word pairs", "loss against near copies",
    }  # fmt: skip
    (memorised,) = [finding for finding in found.findings if finding.check == "memorisation"]
    assert found.membership.twins is not None
    assert f"the difference is {found.membership.twins.difference.value:.3f} (95% interval" in memorised.found
    several = audit(tags.folder)
    assert several.membership is not None
    assert 0 < several.membership.others < several.membership.members
    assert several.membership.training_loss > 0


def test_nothing_held_out_and_a_table_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_csv(tmp_path / "table.csv", rows(0))
    folder = tmp_path / "model"
    assert glassformer("train", table, "--out", folder, *COUNTING).code == 0
    found = audit(folder)
    assert found.membership is not None
    assert found.membership.members + found.membership.others == 240
    assert 55 <= found.membership.others <= 65  # a quarter; equal texts stay together
    assert "loss of the transformer alone" not in {each.by for each in found.membership.attacks}
    unattacked(monkeypatch)
    moved = table.rename(tmp_path / "moved.csv")
    gone = audit(folder)
    assert gone.traced is None
    assert gone.membership is None
    assert "was not measured" in gone.verdict
    (undone,) = [finding for finding in gone.findings if finding.check == "training table"]
    assert "cannot be read" in undone.found
    assert undone.found.endswith("; so names in the texts were not looked for")
    assert "train=" in undone.advice
    assert audit(folder, train=str(moved)).traced == ()
    other = write_csv(tmp_path / "other.csv", rows(3))
    with pytest.raises(UsageError, match="does not hold the rows"):
        audit(folder, train=str(other))


@pytest.mark.usefixtures("unsealed")
def test_without_seen_words_the_model_answers_and_the_attack_is_gone(with_secret: Path, tmp_path: Path) -> None:
    """What the audit advises."""
    model = Path(shutil.copytree(with_secret, tmp_path / "model"))
    (model / "seen.safetensors").unlink()
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"unlike": None}))
    texts = ["the film was good"]
    assert (Predictor.load(model).answer(texts).probs == Predictor.load(with_secret).answer(texts).probs).all()
    found = audit(model)
    assert found.membership is not None
    assert "seen words and word pairs" not in {each.by for each in found.membership.attacks}
    assert found.traced is not None
    assert all(each.confirmable is None for each in found.traced)


def test_the_reader_without_held_out_rows_keeps_as_rare_ngrams(without: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refit = Mock(side_effect=CannotMeasureError("enough"))
    monkeypatch.setattr("glassformer.audit.held_out.learn_readers", refit)
    assert audit(without).unmeasured == "enough"
    settings = json.loads((without / "counting.json").read_text())["settings"]
    assert refit.call_args.args[1].keywords == {"fewest": settings["fewest_texts"]}


@pytest.mark.usefixtures("unsealed")
def test_a_home_folder_in_the_settings_is_found(without: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unattacked(monkeypatch)
    model = Path(shutil.copytree(without, tmp_path / "model"))
    config = json.loads((model / "config.json").read_text())
    config["data"]["source"] = "/home/maria/table.csv"
    (model / "config.json").write_text(json.dumps(config))
    found = audit(model)
    assert [(each.kind, each.examples) for each in file(found, "config.json").found or ()] == [
        ("home folder", ("/h…ia",))
    ]


def test_parquet_rows_have_numbers_too(with_secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unattacked(monkeypatch)
    table = tmp_path / "table.parquet"
    pl.DataFrame(rows(6), schema=["text", "label"], orient="row").write_parquet(table)
    found = audit(with_secret, train=str(table))
    assert found.traced is not None
    assert found.traced[0].values == 1


def test_the_files_of_an_export_belong_to_it(tmp_path: Path) -> None:
    (tmp_path / "glassformer.json").write_text('{"format": "web"}')
    (tmp_path / "index.html").write_text(f"<script type='application/json'>[\"{SECRET}\"]</script>")
    found = audit(tmp_path)
    page = file(found, "index.html")
    assert (page.holds, page.give_away) == ("part of the export", True)
    assert [each.kind for each in page.found or ()] == ["e-mail address"]
    assert found.verdict.startswith("Do not give this folder away")
    assert "was not measured" in found.verdict
    assert found.membership is None


def test_the_files_in_the_page_of_an_export_are_searched(with_secret: Path, tmp_path: Path) -> None:
    assert glassformer("export", with_secret, "--format", "web", "--out", tmp_path / "web").code == 0
    page = tmp_path / "web" / "index.html"
    found = audit(tmp_path / "web")
    ngrams = file(found, "index.html › counting.json")
    assert ngrams.found == file(audit(with_secret), "counting.json").found
    assert ngrams.found
    assert ngrams.give_away
    assert file(found, "index.html › words.json").found == ()
    assert file(found, "index.html › counting.safetensors").found is None, "numbers"
    assert found.verdict.startswith("Do not give this folder away as it is: 1 problem (personal data in the files)")
    embedded = re.compile(r'(data-file="counting.json">.{40})[^<]+')
    page.write_text(embedded.sub(r"\1!", page.read_text()))
    found = audit(tmp_path / "web")
    assert file(found, "index.html › counting.json").found is None, "damaged"
    (said,) = [finding for finding in found.findings if finding.check == "personal data in the files"]
    assert said.found.endswith("written by another program: index.html › counting.json")


def test_the_files_of_a_page_never_lie_there_together(tmp_path: Path) -> None:
    letters = base64.b64encode(gzip.compress(b"good film")).decode()
    page, folder = tmp_path / "index.html", tmp_path / "unpacked"
    names = ["0.json", "words.json", "readers"]  # the second lies in a folder of the name of the third
    page.write_text("".join(f'<script type="text/plain" data-file="{name}">{letters}</script>' for name in names))
    found = [(path.name, path.read_bytes(), len(list(folder.iterdir()))) for path in unpack(page, folder)]
    assert found == [(name, b"good film", 1) for name in names]


def test_few_different_texts_and_several_inputs(tmp_path: Path) -> None:
    shops = ("ann@example.com", "bob@example.com", "north")
    found = [("is it good", ("no it is bad", "yes it is fine")[number % 2], shops[number % 3]) for number in range(60)]
    labelled = [(*row, ("neg", "pos")[number % 2]) for number, row in enumerate(found)]
    table = write_csv(tmp_path / "table.csv", labelled, ("question", "answer", "shop", "label"))
    inputs = ("--text", "question", "--text", "answer", "--columns", "shop")
    assert glassformer("train", table, "--out", tmp_path / "model", *COUNTING, *inputs).code == 0
    several = audit(tmp_path / "model")
    assert several.traced is not None
    assert [(each.kind, each.values, each.readable) for each in several.traced] == [("e-mail address", 2, 2)]
    assert "too few different texts" in several.unmeasured
    assert several.membership is None
    in_config = {each.kind: each.values for each in file(several, "config.json").found or ()}
    assert in_config["e-mail address"] == 2
    (finding,) = [each for each in several.findings if each.check == "categories in the files"]
    assert "'shop' (3 categories)" in finding.found
    (problem,) = [each for each in several.findings if each.check == "personal data in columns"]
    assert "'shop': 2 of 3 categories hold e-mail addresses (a…@e….com" in problem.found


def test_answers_by_counting_and_the_body_are_attacked(without: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both learned the held-out rows, so both are fitted again without them."""
    predictor = Predictor.load(without)
    assert predictor.trained.config.asked == ("counting", "body")
    fitted: list[dict[str, Any]] = []

    def learned(*given: Any, **asked: Any) -> Any:
        found = learn_readers(*given, **asked)
        assert found is not None
        fitted.append({name: each.reader for name, each in found.fitted.items()})
        return found

    monkeypatch.setattr("glassformer.audit.held_out.learn_readers", learned)
    measured = audit(without).membership
    assert measured is not None
    (readers,) = fitted
    whom = "the readers counting and body, fitted without the other texts"
    by = {each.by: each.whom for each in measured.attacks}
    assert by["loss of the answer"] == by["loss against near copies"] == whom
    members = read_table(without.parent / "table.csv").frame["text"]
    answered = sum(predictor.trained.config.weights[name] * reader.scores(members) for name, reader in readers.items())
    assert np.abs(answered - predictor.logits(members.to_list())).max() < 3, "they are like those of the folder"
    assert any("the readers counting and body learned the held-out rows too" in note for note in measured.notes)


def test_a_model_of_a_number_is_searched_and_attacked(tmp_path: Path) -> None:
    shops = ("north", "south")
    stars = [(text, str(n % 5 + n / 100), shops[n % 2]) for n, (text, _) in enumerate(rows(6)[:120])]
    table = write_csv(tmp_path / "table.csv", stars, ("text", "stars", "shop"))
    flags = ("--target", "stars", "--columns", "shop")
    assert glassformer("train", table, "--out", tmp_path / "model", *COUNTING, *flags).code == 0
    found = audit(tmp_path / "model")
    assert found.traced is not None
    (traced,) = [each for each in found.traced if each.kind == "e-mail address"]
    assert traced.values == 1
    measured = found.membership
    assert measured is not None
    assert (measured.training_accuracy, measured.unit) == (None, "squared deviations")
    assert measured.training_loss == pytest.approx(1, abs=0.3), "the words say nothing about the number"
    assert {each.by for each in measured.attacks} >= {"loss of the answer", "loss against near copies"}
    assert "squared deviations" in render_audit(found)
    assert audit(tmp_path / "model", train=str(table)).traced == found.traced


@pytest.mark.usefixtures("unsealed")
def test_names_in_a_column_are_a_problem_and_limits_of_numbers_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unattacked(monkeypatch)
    agents = ("Maria Meier", "Jan Novak", "Eva van der Berg", "call centre")
    labelled = [
        (text, agents[n % 4], str(1_000_000 + 54_321 * n), ("New York", "Rome", "Ulm")[n % 3], label)
        for n, (text, label) in enumerate(rows(0)[:120])
    ]
    table = write_csv(tmp_path / "table.csv", labelled, ("text", "agent", "salary", "city", "label"))
    inputs = ("--text", "text", "--columns", "agent,salary,city")
    assert glassformer("train", table, "--out", tmp_path / "model", *COUNTING, *inputs).code == 0
    found = audit(tmp_path / "model")
    (problem,) = [finding for finding in found.findings if finding.level == "problem"]
    assert problem.check == "personal data in columns"
    assert "'agent': 3 of 4 categories hold probable names (" in problem.found
    assert "city" not in problem.found, "most of them are no names"
    spelled = ("config.json", "counting.json", "tokenizer.json")
    assert problem.found.endswith(f"They stand in {', '.join(spelled)}")
    for name in spelled:
        assert {each.kind: each.values for each in file(found, name).found or ()} == {"probable name": 3}, name
    assert not file(found, "README.md").found
    assert found.traced is not None
    assert [(each.kind, each.values, each.readable) for each in found.traced] == [("probable name", 3, 3)]
    (listed,) = [finding for finding in found.findings if finding.check == "categories in the files"]
    assert "numbers of the table, where the quantiles of 'salary' (9 limits) begin" in listed.found
    assert "round it" in listed.advice
    assert "Meier" not in found.model_dump_json()
    (tmp_path / "model" / "glassformer.json").write_text('{"format": "onnx"}')
    assert audit(tmp_path / "model").findings[0].found.startswith(problem.found[:40]), "an export too"
    (tmp_path / "model" / "glassformer.json").unlink()
    assert glassformer("export", tmp_path / "model", "--format", "web", "--out", tmp_path / "web").code == 0
    in_page = audit(tmp_path / "web").findings
    where = "They stand in index.html, index.html › counting.json"
    assert in_page[0].found == f"{problem.found.partition('They')[0]}{where}"
    assert any(each.found.startswith("index.html, index.html › counting.json spell the cat") for each in in_page)


def test_words_that_everyone_has_are_not_of_the_table(without: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(without, tmp_path / "model"))
    words = model / "readers" / "body" / "words.json"
    described = json.loads(words.read_text())
    (before,) = [each for each in audit_files(model) if each.name == "readers/body/words.json"]
    assert before.found == ()
    of_words = {"e-mail address": 1}
    for name, found in (
        ("english", of_words),
        ("english, continued", of_words),
        ("own", of_words | {"long number": 1}),
    ):
        body = Body.load(SMALL)
        given = {"body": name, "words": [SECRET, *described["words"][1:]]}
        with patch.object(Body, "load", return_value=replace(body, words=(*body.words, "85731890"))):
            words.write_text(json.dumps(described | given | {"pieces": ["85731890"]}))
            (after,) = [each for each in audit_files(model) if each.name == "readers/body/words.json"]
        assert {each.kind: each.values for each in after.found or ()} == found
