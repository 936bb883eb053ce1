"""What is fuzzed beside tables: what commands leave and read again, and what other libraries write."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fastapi.testclient import TestClient

from benchmarks.fuzz_cases import NO_TRANSFORMER, Reading, Subject, done, folders, tables, texts, void
from glassformer.desk.project import STORE_FILE, Project
from glassformer.desk.rounds import Rounds
from glassformer.serving.feedback import FeedbackFile
from glassformer.serving.listening import Address
from tests.attacks.answer import LostError
from tests.checkpoints import describe_encoder, write_checkpoint
from tests.cli.terminal import Outcome, ctrl_c, glassformer
from tests.desk.samples import label
from tests.matrix.samples import ALONE, SMALL
from tests.trained import NEGATIVE, POSITIVE

STOPPED_AT = 4  # steps
SHORT = (
    *SMALL, "--set", "training.epochs=2", "--set", "training.batch_size=16", "--set", "training.min_steps_per_epoch=3",
    "--device", "cpu",
)  # fmt: skip
OF_LABELS = (*SHORT, "--label", "label", "--set", "model.body=none")
RUNS: dict[str, tuple[str, ...]] = {
    "train": (*OF_LABELS, *ALONE, "--set", "validation.min_rows=10"),
    "train in folds": (*OF_LABELS, "--set", "validation.min_rows=300"),
    "pretrain": (*SHORT, "--text", "text"),
}
"""Commands that can be stopped and resumed, with their flags."""
FEW_STEPS = ("--set", "training.max_steps=2", "--set", "validation.min_rows=10")


def _table(model: Path) -> Path:
    return model.parent / "table.csv"


def _answer(model: Path) -> Outcome:
    return glassformer("predict", model, "a good film", "poor play", "--json")


def _copied(path: Path, model: Path) -> None:
    shutil.copytree(model, path)


def runs() -> list[Subject]:
    """Unfinished runs, which go on."""

    def run(name: str, path: Path, model: Path, *more: object) -> Outcome:
        return glassformer(name.split()[0], _table(model), "--out", path, *RUNS[name], *more)

    def stopped(name: str, path: Path, model: Path) -> None:
        with ctrl_c(STOPPED_AT):
            if (outcome := run(name, path, model)).code != 130:
                raise RuntimeError(outcome.err)

    def resume(name: str, path: Path, model: Path) -> Outcome:
        resumed = run(name, path, model, "--resume")
        if resumed.code:
            return resumed
        if name == "pretrain":
            return glassformer("generate", path, "a good", "--max-tokens", 5, "--device", "cpu")
        return _answer(path)

    return [
        Subject(name=f"resume {name}", make=partial(stopped, name), read=partial(resume, name), same=True, writes=True)
        for name in RUNS
    ]


def sealed() -> list[Subject]:
    """Folders with checksums."""

    def page(path: Path, model: Path) -> None:
        counting = path.with_name("counting")
        done(glassformer("train", _table(model), "--label", "label", "--out", counting, *NO_TRANSFORMER))
        done(glassformer("export", counting, "--format", "web", "--out", path))

    verify: Reading = lambda path, _: glassformer("verify", path)  # noqa: E731
    return [
        Subject(name="predict with a sealed model", make=_copied, read=lambda path, _: _answer(path), same=True),
        Subject(name="verify a model", make=_copied, read=verify, same=True),
        Subject(name="verify a web export", make=page, read=verify, same=True),
    ]


def weights() -> list[Subject]:
    """What training starts from or reads with: folders of ours, and those that other libraries write."""

    def train(flag: str, *more: str) -> Reading:
        def read(path: Path, model: Path) -> Outcome:
            out = path.parent / "out"
            given = ("--set", f"{flag}{path}") if "=" in flag else ("--init", f"{flag}{path}")
            flags = ("train", _table(model), "--label", "label", "--out", out, "--device", "cpu", *more, *given)
            trained = glassformer(*flags)
            return trained if trained.code else _answer(out)

        return read

    def body(path: Path, model: Path) -> None:
        done(glassformer("embeddings", _table(model), "--out", path, "--min-count", 2, "--dims", 8))

    def checkpoint(path: Path, _: Path) -> None:
        write_checkpoint(path, "bert", num_hidden_layers=1)

    def encoder(path: Path, _: Path) -> None:
        write_checkpoint(path, "bert", "Model", num_hidden_layers=1)
        describe_encoder(path, ("Pooling", {"pooling_mode": "mean"}), ("Normalize", {}))

    counted = ("--set", "training.epochs=0", "--set", "validation.min_rows=10")
    read = train("model.body=", *counted, *ALONE)
    return [
        Subject(name="train with --init", make=_copied, read=train("", *FEW_STEPS), unsealed=True),
        Subject(name="train with --init hf:", make=checkpoint, read=train("hf:", *FEW_STEPS)),
        Subject(name="train with a body", make=body, read=read, unsealed=True),
        Subject(name="train with a sealed body", make=body, read=read, same=True),
        Subject(name="train with an encoder", make=encoder, read=train("model.body=hf:", *counted, *ALONE)),
    ]


def _when_served(ask: Callable[[TestClient], None]) -> Any:
    """Ask what a command serves, in place of serving it."""

    def answer_requests(app: Any, address: Address, **_: object) -> None:
        address.listener.close()
        with TestClient(app, base_url="http://127.0.0.1") as client:
            client.get(f"/{getattr(app, 'query', '')}")
            ask(client)

    return patch("glassformer.serving.listening.answer_requests", answer_requests)


def feedback() -> list[Subject]:
    """What a server keeps, and a model learns."""
    asked = {"text": "a fine plot", "label": POSITIVE}

    def make(path: Path, _: Path) -> None:
        for number, name in enumerate([POSITIVE, NEGATIVE] * 3):
            more = {"prediction": POSITIVE, "confidence": 0.7, "model": "model", "time": "2026-11-30T10:00:00+00:00"}
            FeedbackFile(path).add({"text": f"a {number} film", "label": name} | more)

    def keep(path: Path, model: Path) -> Outcome:
        before = path.read_bytes()
        with _when_served(lambda client: void(client.post("/feedback", json=asked))):
            served = glassformer("serve", model, "--keep-feedback", path, "--port", 0)
        lines = path.read_bytes().removeprefix(before).split(b"\n")
        if not path.read_bytes().startswith(before) or (
            not served.code and json.loads(lines[-2])["text"] != "a fine plot"
        ):
            raise LostError("the feedback is not what it was and one line more")
        return served

    def add(path: Path, model: Path) -> Outcome:
        return glassformer("train", "--init", model, "--add", path, "--out", path.parent / "out", "--device", "cpu",
                           "--set", "training.epochs=0")  # fmt: skip

    return [
        Subject(name="serve with --keep-feedback", make=make, read=keep, ending=".jsonl", writes=True),
        Subject(name="train with --add", make=make, read=add, ending=".jsonl"),
    ]


def desks() -> list[Subject]:
    """A project with labels, a rule and a model."""

    def make(path: Path, model: Path) -> None:
        with Project.opened(path, _table(model)) as project:
            project.read(text="text", without_labels=True)
            for text in range(1, 31):
                label(project, [text], (POSITIVE, NEGATIVE)[text % 2])
            project.store.note(rules=f'"good film" -> {POSITIVE}')
            rounds = Rounds(project=project, on_model=lambda *_: None, command=lambda *_: ["train"])
            with patch.object(Rounds, "_trained", lambda *_: void(shutil.copytree(model, project.model(1)))):
                rounds.begin()
                rounds.stop()
            if project.store.rounds()[0]["state"] != "done":
                raise RuntimeError(project.store.rounds()[0])

    def ask(client: TestClient) -> None:
        decision = {"texts": [40], "kind": "label", "label": POSITIVE, "who": "me", "way": "search"}
        for path in ("state", "next?who=me", "texts", "texts/1", "alike/1", "columns", "labels.csv", "report/1"):
            _reasoned(client.get(f"/desk/{path}"))
        _reasoned(client.post("/desk/decisions", json=decision))
        _reasoned(client.post("/desk/undo", json={"who": "me"}))
        _reasoned(client.post("/predict", json={"text": "a good film"}))

    def read(path: Path, _: Path) -> Outcome:
        with _when_served(ask):
            opened = glassformer("desk", "--project", path, "--no-open")
        if not (path / STORE_FILE).is_file() or not list((path / "tables").iterdir()):
            raise LostError("the labels or the table are gone")
        if opened.code:
            return opened
        return glassformer("desk", "--project", path, "--export", path.parent / "exported")

    return [Subject(name="desk with a project", make=make, read=read, writes=True)]


def _reasoned(answer: Any) -> None:
    """Raise `RuntimeError` if an error of the server says no reason. An exception comes through by itself."""
    if answer.status_code >= 500 and not answer.json()["reason"]:
        raise RuntimeError(answer.text)


def shards() -> list[Subject]:
    """A folder of tables, and a folder with the answers to one of them."""

    def predict(path: Path, model: Path) -> Outcome:
        return glassformer("predict", model, "--file", path / "given", "--out", path / "answers")

    def make(path: Path, model: Path) -> None:
        (path / "given").mkdir(parents=True)
        for number in range(3):
            if number == 2:
                done(predict(path, model))
            (path / "given" / f"{number}.csv").write_text(f"text\na good film {number}\na bad film\n")

    return [Subject(name="predict a folder of tables", make=make, read=predict, writes=True)]


def subjects() -> dict[str, Subject]:
    made = chain(tables(), folders(), texts(), runs(), sealed(), weights(), feedback(), desks(), shards())
    return {each.name: each for each in made}
