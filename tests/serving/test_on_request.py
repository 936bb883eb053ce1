"""What an answer holds on request, and the feedback that is kept."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from glassformer.cli.serve import in_words
from glassformer.data.table import read_table
from glassformer.errors import GlassformerError, UsageError
from glassformer.serving.api import create_app
from glassformer.serving.feedback import FeedbackFile
from glassformer.serving.limits import Limits
from tests.prediction.samples import small_trained_model
from tests.serving.samples import TEXT, of_groups, served

CLIENT = TestClient(create_app(served(), limits=Limits(explained_texts=2, explained_characters=100)))


def asked(**body: Any) -> Any:
    found = CLIENT.post("/predict", json=body)
    return found.json()["answers"] if found.status_code == 200 else found.json()["reason"]


def test_answers_below_a_confidence_need_a_review() -> None:
    texts = [TEXT, "good", " "]
    plain = asked(texts=texts)
    assert all("needs_review" not in answer and "explanation" not in answer for answer in plain)
    sure = plain[0]["confidence"]
    assert [answer["needs_review"] for answer in asked(texts=texts, review_below=0.0)] == [False, False, None]
    assert [answer["needs_review"] for answer in asked(texts=texts, review_below=1.0)] == [True, True, None]
    (exactly,) = asked(text=TEXT, review_below=sure)
    assert exactly["needs_review"] is False
    assert "review_below" in asked(text=TEXT, review_below=1.1)


def test_an_answer_comes_with_its_reasons() -> None:
    (answer, empty) = asked(texts=[TEXT, ""], explain=True)
    why = CLIENT.post("/explain", json={"text": TEXT}).json()
    assert answer["explanation"] | {"model": "reviews"} == why
    assert empty["explanation"] is None
    assert asked(texts=[TEXT] * 3, explain=True) == "3 texts are more than the 2 to explain at once"
    assert "more than the 100 that are read here" in asked(text="a" * 101, explain=True)


def test_feedback_is_kept_as_lines_that_can_be_trained_on(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    with TestClient(create_app(served(), feedback=FeedbackFile(path))) as client:
        for text, label in ((TEXT, "good"), ("ünicode \n\u2028 line", "bad")):
            assert client.post("/feedback", json={"text": text, "label": label}).json() == {"status": "kept"}
        answer = client.post("/predict", json={"text": TEXT}).json()["answers"][0]
        counted = 'glassformer_texts_total{model="reviews"} 1.0'
        assert counted in client.get("/metrics").text, "texts of /predict alone"
        for body, says in (
            ({"text": TEXT, "label": "superb"}, "`label='superb'`: the model has no such label, only bad, fine, good"),
            ({"text": TEXT, "label": ["good"]}, "give one label, not a list"),
            ({"text": TEXT}, "`label` is missing"),
            ({"text": "a" * 100_001, "label": "bad"}, "more than the 100,000"),
        ):
            refused = client.post("/feedback", json=body)
            assert refused.status_code == 422
            assert says in refused.json()["reason"]
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n")]
    assert [list(line) for line in lines] == [["text", "label", "prediction", "confidence", "model", "time"]] * 2
    assert (lines[0]["text"], lines[0]["label"], lines[0]["model"]) == (TEXT, "good", "reviews")
    assert (lines[0]["prediction"], lines[0]["confidence"]) == (answer["prediction"], answer["confidence"])
    assert path.stat().st_mode & 0o777 == 0o600
    table = read_table(path, text="text", label="label")
    assert table.frame["label"].to_list() == ["good", "bad"]


def test_feedback_holds_the_group_of_its_row_if_the_model_was_trained_with_groups(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    models = served("grouped", of_groups()) | served("plain")
    with TestClient(create_app(models, feedback=FeedbackFile(path))) as client:

        def sent(**more: Any) -> Any:
            return client.post("/feedback", json={"text": TEXT, "label": "good"} | more).json()

        assert [sent(group=given) for given in ("Anna", 12, None)] == [{"status": "kept"}] * 3
        assert sent(group="Anna", model="plain")["reason"] == (
            "the model plain was trained without groups; leave out `group=`"
        )
        about = client.get("/model").json()["models"]
        assert [model.get("group") for model in about] == ["customer", None]
        half = json.dumps({"text": TEXT, "label": "good", "group": "\udfff"})
        refused = client.post("/feedback", content=half, headers={"content-type": "application/json"})
        assert "half of a surrogate pair" in refused.json()["reason"]
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line.get("customer", "none") for line in lines] == ["Anna", 12, "none"]


def test_a_label_is_named_once(tmp_path: Path) -> None:
    several = served(trained=small_trained_model(multilabel=True))
    with TestClient(create_app(several, feedback=FeedbackFile(tmp_path / "kept.jsonl"))) as client:
        refused = client.post("/feedback", json={"text": TEXT, "label": ["good"] * 10_000})
        assert (refused.status_code, refused.json()["reason"]) == (
            422,
            "`label`: a label is named twice; name each once",
        )
        assert client.post("/feedback", json={"text": TEXT, "label": ["good", "bad"]}).status_code == 200


def test_nothing_is_kept_unless_asked_for(tmp_path: Path) -> None:
    refused = CLIENT.post("/feedback", json={"text": TEXT, "label": "good"})
    assert refused.status_code == 404
    reason = refused.json()["reason"]
    assert (
        in_words(reason)
        == "this server keeps no feedback; start it with --keep-feedback feedback.jsonl to keep it there"
    )
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(UsageError, match=r"`keep_feedback=.*is a folder, a pipe or a device; name a file"):
            FeedbackFile(path)


@pytest.mark.parametrize(
    "content",
    [
        "text,label\ngood,bad\n",
        "text,label",
        '{"text": "good", "label": "bad"}\n',
        '{\n  "model": {}\n}\n',
        "[1]\n",
        '{"a": 1}\n'.encode("utf-16"),
        bytes(range(256)),
    ],
)
def test_a_file_of_something_else_stays_as_it_is(content: str | bytes, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    written = content.encode() if isinstance(content, str) else content
    path.write_bytes(written)
    with pytest.raises(UsageError, match=r"mine` holds other things than feedback; name a file of its own"):
        FeedbackFile(path)
    assert path.read_bytes() == written


def test_a_line_without_its_end_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "feedback.jsonl"
    first, second = ({"text": text, "prediction": "x", "confidence": 1, "model": "m", "time": "t"} for text in "ab")
    for before in (json.dumps(first), json.dumps(first)[:20], "\n", f"\n{json.dumps(first)[:20]}"):
        path.write_text(before, encoding="utf-8")
        FeedbackFile(path).add(second)
        FeedbackFile(path).add(second)
        assert path.read_text() == before.rstrip("\n") + "\n" + f"{json.dumps(second)}\n" * 2


def test_a_line_that_cannot_be_written_whole_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = FeedbackFile(tmp_path / "feedback.jsonl")
    file.add({"text": "a"})
    write = os.write
    monkeypatch.setattr(os, "write", lambda number, line: write(number, line[:4]))
    with pytest.raises(GlassformerError, match="the disk is full"):
        file.add({"text": "b"})
    monkeypatch.undo()
    monkeypatch.setattr(os, "fsync", lambda _: os.close(-1))  # some disks say only now that they failed
    with pytest.raises(GlassformerError, match="was not kept"):
        file.add({"text": "b"})
    monkeypatch.undo()
    file.add({"text": "c"})
    assert file.path.read_text() == '{"text": "a"}\n{"text": "c"}\n'
