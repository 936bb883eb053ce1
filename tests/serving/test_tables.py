import asyncio
import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.testclient import TestClient

from glassformer.evaluation import seen_rows
from glassformer.evaluation.evaluate_model import evaluate_model
from glassformer.prediction.change_costs import with_costs
from glassformer.prediction.predictor import Predictor
from glassformer.serving import tables
from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from tests.explanation.test_explain import two_readers
from tests.serving.samples import served
from tests.trained import Trained
from tests.workbooks import xlsx

SMALL = Limits(table_bytes=20_000, table_rows=200, characters=60)


def sent(client: TestClient, content: str | bytes, name: str = "new.csv", **more: Any) -> Any:
    body = content.encode() if isinstance(content, str) else content
    return client.post("/table", content=body, params={"name": name} | more)


def result(answer: Any) -> Any:
    """The last line, after lines that say how far it is."""
    assert answer.status_code == 200, answer.text
    *progress, last = map(json.loads, answer.text.splitlines())
    assert [line["answered"] for line in progress] == sorted(line["answered"] for line in progress)
    assert progress[-1]["answered"] == progress[-1]["rows"]
    return last["result"]


@pytest.fixture(scope="module")
def client() -> Any:
    with TestClient(create_app(served(), limits=SMALL)) as found:
        yield found


@pytest.fixture
def trained(reviews: Trained) -> Any:
    model = {"reviews": reviews.folder}
    predictor = Predictor.load(model["reviews"])
    with TestClient(create_app(served(trained=predictor.trained, folder=reviews.folder))) as found:
        yield found


def test_a_table_without_labels_is_answered(client: TestClient) -> None:
    rows = "".join(f'"the plot, is thin {number}",{number}\n' for number in range(150))
    found = result(sent(client, f"text,id\n{rows}"))
    assert found["rows"] == 150
    (answers,) = found["answers"]
    assert sum(answers["counts"].values()) == 150
    frame = pl.read_csv(io.StringIO(answers["csv"]))
    assert frame.columns[:4] == ["text", "id", "prediction", "confidence"]
    expected = Predictor(served()["reviews"].whole.trained).answer(frame["text"].to_list())
    assert frame["prediction"].to_list() == expected.predictions()
    assert frame["confidence"].to_list() == pytest.approx(expected.confidences.tolist(), abs=1e-5)
    assert found["measured"] == []
    assert found["not_measured"]["reviews"].endswith("name it with `label=`.")


def test_answers_are_separated_as_the_table_is(client: TestClient) -> None:
    (answers,) = result(sent(client, '\ufefftext;n\n"good; really, yes";3,5\nbad;4,5\n'))["answers"]
    rows = list(csv.DictReader(io.StringIO(answers["csv"]), delimiter=";"))
    assert [(row["text"], row["n"]) for row in rows] == [("good; really, yes", "3,5"), ("bad", "4,5")]
    assert all(row["confidence"].startswith("0,") for row in rows)


def test_answers_that_a_person_should_see_have_a_column_of_their_own() -> None:
    trained = two_readers()
    trained = replace(trained, config=with_costs(trained.config, ["bad=3", "review=0.2"]))
    with TestClient(create_app(served(trained=trained), limits=SMALL)) as client:
        (answers,) = result(sent(client, "text\nthe plot\n"))["answers"]
        assert "needs_review" in pl.read_csv(io.StringIO(answers["csv"])).columns
        refused = sent(client, "text,needs_review\nthe plot,yes\n")
        assert refused.status_code == 422
        assert "already has a column 'needs_review'" in refused.json()["reason"]
        tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["the plot"]}
        outputs = client.post("/v2/models/reviews/infer", json={"inputs": [tensor]}).json()["outputs"]
        assert [(each["name"], each["datatype"]) for each in outputs][-1] == ("needs_review", "BOOL")
        assert outputs[-1]["data"] == [
            client.post("/predict", json={"text": "the plot"}).json()["answers"][0]["needs_review"]
        ]


def test_an_empty_text_gets_no_answer(client: TestClient) -> None:
    (answers,) = result(sent(client, "text,id\nthe plot,1\n,2\nthin,3\n"))["answers"]
    assert answers["unanswered"] == 1
    assert pl.read_csv(io.StringIO(answers["csv"]))["prediction"].null_count() == 1


def test_a_table_with_labels_is_measured_as_evaluate_does(
    trained: TestClient, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(reviews.table.parent)  # where the training table is
    expected = evaluate_model(Predictor.load(reviews.folder), reviews.folder, str(reviews.table))
    content = reviews.table.read_bytes()
    (found,) = result(sent(trained, content, "test.csv"))["measured"]
    assert found["rows"] == 230
    assert found["contestants"][-1]["accuracy"] == expected.metrics.accuracy.model_dump()
    assert found["baseline_missing"] is None
    assert any(note.endswith("all figures are too good") for note in found["notes"]), "also without baselines"
    assert not any("baseline" in note for note in found["notes"])
    names = [each["name"] for each in found["contestants"]]
    (more,) = result(sent(trained, content, "test.csv", baselines=True))["measured"]
    assert len(more["contestants"]) > len(names)
    assert more["sentences"][0] == expected.duel.verdict


def test_a_baseline_that_cannot_be_trained_is_said(
    trained: TestClient, reviews: Trained, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # where the training table is not
    monkeypatch.setattr(seen_rows, "exists", lambda _: False)  # nor above the model
    (found,) = result(sent(trained, reviews.table.read_bytes(), baselines=True))["measured"]
    assert found["baseline_missing"].startswith("The training rows cannot be read")
    assert not any("aseline" in sentence for sentence in found["sentences"] + found["notes"])


def test_two_models_are_compared(reviews: Trained) -> None:
    trained = Predictor.load(reviews.folder).trained
    models = served("one", trained, reviews.folder) | served("two", trained, reviews.folder)
    with TestClient(create_app(models)) as client:
        found = result(sent(client, reviews.table.read_bytes()))
    assert [each["model"] for each in found["measured"]] == ["one", "two"]
    assert found["comparison"].startswith("one and two are right on the same rows")


@pytest.mark.parametrize("name", ["new.xlsx", "new.xlsx#March"])
def test_a_workbook_is_answered(name: str, client: TestClient) -> None:
    sheets = {"March": [["text"], ["the plot"], ["thin"]]}
    assert result(sent(client, xlsx(sheets), name))["rows"] == 2
    said = sent(client, xlsx({**sheets, "April": [["text"], ["a"]]}), "new.xlsx").json()["reason"]
    assert said == (
        "new.xlsx has 2 sheets that are not empty; name one of them:\n"
        "  new.xlsx#March  3 rows, 1 column\n  new.xlsx#April  2 rows, 1 column"
    )
    assert sent(client, xlsx(sheets), "new.xlsx#May").json()["reason"].startswith("new.xlsx has no sheet 'May'. ")


@pytest.mark.parametrize(
    ("content", "name", "status", "says"),
    [
        ("text\n" + "a\n" * 201, "new.csv", 422, "new.csv has more than 200 rows"),
        (f"text\nthe plot\n{'a' * 61}\n", "new.csv", 422, "row 2 has 61 characters"),
        ("text\na\n", "new.parquet", 422, "'new.parquet': tables are read as .csv, .tsv"),
        ("text\na\n", "new.csv.gz", 422, "tables are read as"),
        (b"\4Anna", "~$new.xlsx", 422, "Excel marks a workbook that is open; name the workbook: 'new.xlsx'"),
        ("text\n", "../../new.csv", 422, "../../new.csv has a header but no rows below it"),
        (b"text\n\xc3\xa9\n\xff\xfe\n", "new.csv", 422, "new.csv"),
        (
            "id,year\n1,1999\n2,2001\n",
            "new.csv",
            422,
            "Name it with `text=` (and the label with `label=`). The columns, with some values:\n  'id': ",
        ),
        ("text,prediction\nthe plot,bad\n", "new.csv", 422, "already has a column 'prediction'"),
        ("text\n" + "a" * 20_000, "new.csv", 413, "larger than 20,000 bytes"),
    ],
)
def test_a_table_that_is_not_read_is_refused(
    client: TestClient, content: str | bytes, name: str, status: int, says: str
) -> None:
    answer = sent(client, content, name)
    assert answer.status_code == status, answer.text
    assert says in answer.json()["reason"]
    assert "/tmp" not in answer.json()["reason"]
    assert result(sent(client, "text\nthe plot\n"))["rows"] == 1, "the next table is answered"


def test_columns_can_be_named(trained: TestClient) -> None:
    content = "".join(f"{number},good film {number},fine play {number},very good,1\n" for number in range(20))
    table = f"id,one,two,kind,flag\n{content}"
    assert "`text=`" in sent(trained, table).json()["reason"]
    found = result(sent(trained, table, text="two"))
    assert found["first_texts"][0] == "fine play 0"
    assert found["not_measured"]["reviews"].endswith("name it with `label=`.")
    found = result(sent(trained, table, text="two", label="kind"))
    assert found["measured"], found["not_measured"]
    assert found["measured"][0]["rows"] == 20
    refused = sent(trained, table, text="three").json()["reason"]
    assert refused.startswith("new.csv has no column 'three' (`text=`).")
    assert "'two'" in refused


def test_a_model_folder_that_is_gone_is_said(client: TestClient) -> None:
    lines = sent(client, "text,label\nthe plot,good\nthin,fine\n").text.splitlines()
    assert json.loads(lines[-1])["reason"].startswith("No such file or directory")


def test_nothing_of_a_table_is_kept(client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result(sent(client, "text\nthe plot\n"))
    sent(client, "text\n")
    assert list(tmp_path.iterdir()) == []


def test_a_second_table_waits_its_turn(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.Lock, "locked", lambda _: True)
    assert "another table is being answered" in sent(client, "text\na\n").json()["reason"]


def test_a_client_that_is_gone_before_the_first_line_does_not_keep_others_waiting() -> None:
    """Nothing of the answer is begun then, as the client has not read what was sent before."""
    app, statuses = create_app(served(), limits=SMALL), []
    scope = {
        "type": "http", "method": "POST", "path": "/table", "query_string": b"name=new.csv", "headers": [],
        "asgi": {"version": "3.0", "spec_version": "2.3"}, "scheme": "http", "http_version": "1.1",
    }  # fmt: skip

    async def ask(*, reads: bool) -> None:
        messages = [{"type": "http.request", "body": b"text\ngood\n"}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            if reads:
                await asyncio.Event().wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            statuses.append(message.get("status"))
            if not reads:
                await asyncio.Event().wait()

        await app(dict(scope), receive, send)

    async def both() -> None:
        async with asyncio.timeout(10):
            await ask(reads=False)
            await ask(reads=True)

    asyncio.run(both())
    assert [status for status in statuses if status] == [200, 200]


def test_learned_rows_that_are_far_away_are_not_fetched_for_each_table(
    trained: TestClient, reviews: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_MOST_LEARNED", 10)
    monkeypatch.setattr(tables, "seen_rows", lambda *_: pytest.fail("read"))
    (found,) = result(sent(trained, reviews.table.read_bytes(), "test.csv"))["measured"]
    assert "were not looked for; `glassformer evaluate` looks" in found["notes"][-1]
