import json
import shutil
import signal
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import torch

from glassformer.data.installed import pip_install
from glassformer.serving.listening import Address
from tests.cli.terminal import glassformer as command
from tests.cli.terminal import misused
from tests.running import Running
from tests.trained import Trained

BODY = b'{"text": "not bad"}'
HEAD = f"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(BODY)}\r\n"


@contextmanager
def serving(log: Path, *arguments: str, **environment: str) -> Iterator[tuple[Running, dict[str, Any]]]:
    """A server, and what it says in JSON."""
    serve = ("serve", *arguments, "--port", 0, "--json")
    with Running("-m", "glassformer", *serve, log=log, environment=environment) as server:
        server.wait_until(lambda: server.out.read_text().endswith("}\n"))
        yield server, json.loads(server.out.read_text())


def closing(_app: object, address: Address, **_: object) -> None:
    address.listener.close()


def test_it_answers_until_it_is_stopped(reviews: Trained, tmp_path: Path) -> None:
    with serving(tmp_path / "log", str(reviews.folder), "--quiet") as (server, said):
        assert said["models"] == ["model"]
        assert said["url"].startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{said['url']}health", timeout=60) as answer:
            assert json.load(answer) == {"status": "ok"}
        with urllib.request.urlopen(said["url"], timeout=60) as answer:
            assert answer.read().startswith(b"<!doctype html>")
        server.process.send_signal(signal.SIGINT)
        outcome = server.outcome()
    assert (outcome.code, outcome.document, outcome.err) == (130, said, "stopped\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_was_taken_is_finished_and_nothing_new_is_taken(
    number: signal.Signals, reviews: Trained, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("open sesame and more".replace(" ", "-") + "\n")
    given = (str(reviews.folder), "--log-json", "--api-key-file", str(key))
    serve = serving(tmp_path / "log", *given, GLASSFORMER_API_KEY="other")
    with serve as (server, said):
        place = urlsplit(said["url"])
        assert place.hostname
        assert place.port
        with socket.create_connection((place.hostname, place.port), timeout=60) as client:
            head = f"{HEAD}authorization: Bearer open-sesame-and-more\r\n\r\n"
            client.sendall(head.encode() + BODY[:5])
            with pytest.raises(urllib.error.HTTPError, match="401"):  # it has read the first half by now
                urllib.request.urlopen(f"{said['url']}model", timeout=60)
            server.process.send_signal(number)
            server.wait_until_it_says("finishing 1 request; Ctrl-C again stops at once\n")
            client.sendall(BODY[5:])
            answer = b"".join(iter(partial(client.recv, 65536), b""))
        assert answer.startswith(b"HTTP/1.1 200")
        assert b'"answers":[{"prediction":' in answer
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((place.hostname, place.port), timeout=60)
        outcome = server.outcome()
    assert (outcome.code, outcome.document) == (128 + number, said)
    refused, finishing, record, stopped = (line for line in outcome.err.splitlines() if not line.startswith("loading"))
    assert json.loads(refused)["status"] == 401
    assert finishing.startswith("finishing 1 request")
    assert json.loads(record)["route"] == "/predict"
    assert stopped == "stopped"


def test_ctrl_c_twice_stops_at_once(reviews: Trained, tmp_path: Path) -> None:
    with serving(tmp_path / "log", str(reviews.folder)) as (server, said):
        place = urlsplit(said["url"])
        assert place.hostname
        assert place.port
        with socket.create_connection((place.hostname, place.port), timeout=60) as client:
            client.sendall(f"{HEAD}\r\n".encode() + BODY[:5])
            urllib.request.urlopen(f"{said['url']}health", timeout=60).close()
            server.process.send_signal(signal.SIGINT)
            server.wait_until_it_says("finishing 1 request")
            server.process.send_signal(signal.SIGINT)
            outcome = server.outcome()
    assert (outcome.code, outcome.document) == (130, said)
    assert outcome.err.endswith("Ctrl-C again stops at once\nstopped\n")


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", "schlüssel".encode(), b"\xff"])
def test_a_file_without_a_key_is_misuse(reviews: Trained, tmp_path: Path, content: bytes) -> None:
    key = tmp_path / "key"
    key.write_bytes(content)
    outcome = command("serve", reviews.folder, "--api-key-file", key)
    assert outcome.code == 2
    assert str(key) in outcome.err
    misused(command("serve", reviews.folder, "--api-key-file", "/dev/zero"), "the key cannot be read: it is no file of")
    misused(
        command("serve", reviews.folder, "--api-key-file", tmp_path / "none"), "the key cannot be read: No such file"
    )


def test_feedback_goes_to_a_file_that_can_be_written(reviews: Trained) -> None:
    outcome = command("serve", reviews.folder, "--keep-feedback", reviews.folder)
    misused(outcome, f"--keep-feedback {reviews.folder} is a folder, a pipe or a device; name a file")


def test_a_port_in_use_is_misuse(reviews: Trained) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = command("serve", reviews.folder, "--port", port)
    misused(outcome, f"--port {port}: cannot listen at 127.0.0.1, address already in use; choose another port")


def test_an_address_that_is_none_is_misuse(reviews: Trained) -> None:
    misused(command("serve", reviews.folder, "--host", "no such host"), "--host 'no such host': no such address")


def test_the_same_model_twice_is_misuse(reviews: Trained) -> None:
    misused(command("serve", reviews.folder, reviews.folder), "are the same model; name each model once")


def test_a_folder_that_is_none_is_misuse(tmp_path: Path) -> None:
    misused(command("serve", tmp_path / "nothing"), "no such model folder")


def test_a_missing_extra_is_named(reviews: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    misused(command("serve", reviews.folder), f"serving needs an extra: {pip_install('serve')}")


def test_the_page_opens_and_others_are_warned_of(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def no_browser(url: str) -> bool:
        opened.append(url)
        return False

    monkeypatch.setattr("webbrowser.open", no_browser)
    monkeypatch.setattr("glassformer.serving.listening.answer_requests", closing)
    other = shutil.copytree(reviews.folder, tmp_path / "other")
    third = shutil.copytree(reviews.folder, tmp_path / "third")
    outcome = command("serve", reviews.folder, other, third, "--open", "--port", 0, "--host", "0.0.0.0")
    assert outcome.code == 0
    assert outcome.out.startswith("model, other, third: http://127.0.0.1:")
    elsewhere = outcome.out.split()[3].replace("127.0.0.1", socket.gethostname())
    assert f"    from other machines: {elsewhere}    (Ctrl-C" in outcome.out
    assert opened == [outcome.out.split()[3]]
    assert "warning: other machines can reach this server, and nobody has to log in; --api-key-file" in outcome.err
    assert "note: no browser could be opened" in outcome.err


@pytest.mark.parametrize(("key", "warned"), [("a" * 15, True), ("a" * 16, False)])
def test_a_short_key_is_warned_of(reviews: Trained, key: str, warned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.serving.listening.answer_requests", closing)
    monkeypatch.setenv("GLASSFORMER_API_KEY", key)
    outcome = command("serve", reviews.folder, "--port", 0)
    assert outcome.code == 0
    assert ("warning: a key of fewer than 16 characters can be guessed" in outcome.err) == warned
    assert "from other machines" not in outcome.out


def test_a_short_text_is_read_with_one_thread(reviews: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def count(app: object, address: Address, **given: object) -> None:
        seen.append(torch.get_num_threads())
        closing(app, address, **given)

    monkeypatch.setattr("glassformer.serving.listening.answer_requests", count)
    torch.set_num_threads(3)
    try:
        assert command("serve", reviews.folder, "--port", 0).code == 0
    finally:
        torch.set_num_threads(1)
    assert seen == [1]
