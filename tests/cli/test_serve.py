import json
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import Trained
from tests.cli.terminal import glassformer as command
from tests.cli.terminal import misused


def test_it_answers_until_it_is_stopped(reviews: Trained) -> None:
    serve = [sys.executable, "-m", "glassformer", "serve", str(reviews.folder), "--port", "0", "--json", "--quiet"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        written = "".join(iter(server.stdout.readline, "}\n")) + "}"
        said = json.loads(written)
        assert said["models"] == ["model"]
        assert said["url"].startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{said['url']}health", timeout=60) as answer:
            assert json.load(answer) == {"status": "ok"}
        with urllib.request.urlopen(said["url"], timeout=60) as answer:
            assert answer.read().startswith(b"<!doctype html>")
        server.send_signal(signal.SIGINT)
        assert server.communicate(timeout=60) == ("", "stopped\n")
    assert server.returncode == 130


def test_a_port_in_use_is_misuse(reviews: Trained) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = command("serve", reviews.folder, "--port", port)
    misused(outcome, f"--port {port}: cannot listen at 127.0.0.1, address already in use; choose another port")


def test_an_address_that_is_none_is_misuse(reviews: Trained) -> None:
    misused(command("serve", reviews.folder, "--host", "no such host"), "--host 'no such host': no such address")


def test_the_same_model_twice_is_misuse(reviews: Trained) -> None:
    misused(command("serve", reviews.folder, reviews.folder), "are the same model; name two")


def test_a_folder_that_is_none_is_misuse(tmp_path: Path) -> None:
    misused(command("serve", tmp_path / "nothing"), "no such model folder")


def test_a_missing_extra_is_named(reviews: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    misused(command("serve", reviews.folder), "serving needs an extra: pip install 'glassformer[serve]'")


def test_the_page_opens_and_others_are_warned_of(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def no_browser(url: str) -> bool:
        opened.append(url)
        return False

    monkeypatch.setattr("webbrowser.open", no_browser)
    monkeypatch.setattr("glassformer.serving.listening.answer_requests", lambda _app, address: address.listener.close())
    other = shutil.copytree(reviews.folder, tmp_path / "other")
    outcome = command("serve", reviews.folder, other, "--open", "--port", 0, "--host", "0.0.0.0")
    assert outcome.code == 0
    assert outcome.out.startswith("model and other: http://127.0.0.1:")
    assert opened == [outcome.out.split()[3]]
    assert "warning: other machines can reach this server" in outcome.err
    assert "note: no browser could be opened" in outcome.err
