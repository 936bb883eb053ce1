"""A model whose folder changes is replaced, and no request is lost."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from glassformer.data.locks import LOCK_FILE
from glassformer.prediction.model_folder import TrainedModel, save_model
from glassformer.serving import reloading
from glassformer.serving.api import create_app
from glassformer.serving.served_model import load_models
from tests.explanation.test_explain import two_readers
from tests.serving.samples import TEXT

WAIT = 30


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloading, "_LOOK_AGAIN", 0.05)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "reviews", two_readers())


def saved(folder: Path, trained: TrainedModel) -> Path:
    save_model(folder, trained, card="# A card\n")
    return folder


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def client(folder: Path, told: list[str]) -> Iterator[TestClient]:
    with TestClient(create_app(load_models([folder], device="cpu"), tell=told.append)) as found:
        yield found


def until(true: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < WAIT
        time.sleep(0.02)


def answer(client: TestClient) -> dict[str, Any]:
    found = client.post("/predict", json={"text": TEXT})
    assert found.status_code == 200, found.text
    answer: dict[str, Any] = found.json()["answers"][0]
    return answer


def test_a_changed_folder_is_read_again_and_no_request_is_lost(
    client: TestClient, folder: Path, told: list[str]
) -> None:
    first, found, stop = answer(client), list[dict[str, Any]](), threading.Event()

    def ask() -> None:
        while not stop.is_set():
            found.append(answer(client))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    saved(folder, two_readers(transformer=0.0))
    # A busy machine may take seconds to write the files, so the server may find half of them first.
    until(lambda: bool(told) and told[-1] == "the folder of reviews has changed; the new model answers from now on")
    stop.set()
    for thread in threads:
        thread.join()
    new = answer(client)
    assert first["reading"] is not None
    assert new["reading"] is None, "the new model answers by counting alone"
    assert first in found
    assert all(each in (first, new) for each in found)
    (about,) = client.get("/model").json()["models"]
    assert about["asked"] == ["counting"]
    assert about["not_reloaded"] is None


def test_a_folder_that_cannot_be_read_leaves_the_old_model(client: TestClient, folder: Path, told: list[str]) -> None:
    first = answer(client)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:100])
    until(lambda: bool(told))
    assert told[0].startswith("the folder of reviews has changed and cannot be read; the model of before answers: ")
    assert "model.safetensors" in told[0]
    assert answer(client) == first
    ready = client.get("/ready")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "not_reloaded": ["reviews"]})
    assert client.get("/model").json()["models"][0]["not_reloaded"] in told[0]
    (folder / "model.safetensors").write_bytes(weights)
    until(lambda: len(told) == 2)
    assert client.get("/ready").json()["not_reloaded"] == []
    assert answer(client) == first


def test_a_folder_may_be_gone_for_a_while_or_be_a_link(tmp_path: Path, told: list[str]) -> None:
    versions = [saved(tmp_path / name, two_readers(transformer=weight)) for name, weight in (("1", 1.0), ("2", 0.0))]
    link = tmp_path / "current"
    link.symlink_to(versions[0])
    with TestClient(create_app(load_models([link], device="cpu"), tell=told.append)) as client:
        link.unlink()
        until(lambda: len(told) == 1)
        assert "no such model folder" in told[0]
        assert answer(client)["reading"] is not None
        link.symlink_to(versions[1])
        until(lambda: len(told) == 2)
        assert answer(client)["reading"] is None
        shutil.rmtree(versions[0])
    assert len(told) == 2


def test_a_model_that_came_later_is_read_again_too_and_asked_the_same(
    tmp_path: Path, folder: Path, told: list[str]
) -> None:
    with TestClient(create_app({}, tell=told.append)) as client:
        models = client.app.state.models  # type: ignore[attr-defined]
        time.sleep(0.2)
        (model,) = load_models([folder], device="cpu").values()
        models["reviews"] = replace(model, asked={"review_below": 2.0})
        time.sleep(0.5)
        assert told == [], "nothing has changed"
        saved(folder, two_readers(transformer=0.0))
        until(lambda: bool(told) and answer(client)["reading"] is None)
        assert answer(client)["needs_review"]
        saved(tmp_path / "next", two_readers())
        (model,) = load_models([tmp_path / "next"], device="cpu").values()
        models["reviews"] = replace(model, name="reviews")
        time.sleep(0.5)
        assert answer(client)["reading"] is not None
        assert len(set(told)) == 1


@pytest.mark.usefixtures("client")
def test_what_evaluate_writes_and_the_lock_of_a_run_are_no_change(folder: Path, told: list[str]) -> None:
    (folder / LOCK_FILE).write_text("{}")
    (folder / "evaluation").mkdir()
    (folder / "evaluation" / "metrics.json").write_text("{}")
    time.sleep(0.5)
    assert told == []
