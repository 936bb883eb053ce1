"""`glassformer serve`: a page and an API for one or several models."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.flags import as_flags
from glassformer.cli.options import Asking
from glassformer.cli.output import doing, insist, print_json, say, show
from glassformer.cli.there import model_folders
from glassformer.errors import UsageError, words_of

if TYPE_CHECKING:
    from glassformer.serving.telemetry import Telemetry

_MOST_BYTES, _SHORTEST = 4096, 16  # of a key


def serve(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL...",
            callback=model_folders,
            help="Model folders, or sentiment-en, which comes with glassformer. They answer side by side.",
        ),
    ],
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    host: Annotated[
        str, typer.Option(metavar="<address>", help="The address to listen at. 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="<int>", help="The port. 0: any free one.")] = 8000,
    api_key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="<file>",
            help="A file with a key that requests need. Default: the variable GLASSFORMER_API_KEY, or no key.",
        ),
    ] = None,
    keep_feedback: Annotated[
        Path | None,
        typer.Option(metavar="<file>", help="Add the texts and right labels that /feedback is sent to this file."),
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Write a line of JSON to standard error for each request, without texts.")
    ] = False,
    otel: Annotated[
        bool, typer.Option("--otel", help="Send traces and metrics by OpenTelemetry, as set by the variables OTEL_…")
    ] = False,
    *,
    run: Asking,
) -> None:
    """Serve a page to try a model on, and an API, on this machine. Ctrl-C stops it."""
    check_can_serve("serving")
    from glassformer.serving.api import create_app
    from glassformer.serving.feedback import FeedbackFile
    from glassformer.serving.listening import allowed_hosts, answer_requests, listen
    from glassformer.serving.served_model import load_models

    api_key = _api_key(api_key_file)
    feedback = None if keep_feedback is None else FeedbackFile(keep_feedback)
    telemetry = _telemetry() if otel else None
    models = load_models(folders, device=run.device)
    _compute_with_one_thread()
    address = listen(host, port)
    log, tell = (_log, _log_event) if log_json else (None, say)
    hosts = allowed_hosts(address)
    app = create_app(
        models, hosts=hosts, api_key=api_key, log=log, tell=tell, in_words=in_words, feedback=feedback,
        telemetry=telemetry,
    )  # fmt: skip
    if not address.is_private and api_key is None:
        say("warning: other machines can reach this server, and nobody has to log in; --api-key-file asks for a key")
    elif not address.is_private:
        say("warning: other machines can reach this server, and the key and the texts are sent to it unencrypted")
    if run.json:
        print_json({"url": address.url, "models": list(models)})
    else:
        show(f"{', '.join(models)}: {address.urls}    (Ctrl-C stops it)")
    if open_page:
        open_in_browser(address.url)
    doing("")  # show nothing while no request comes
    try:
        answer_requests(app, address, on_finishing=say_finishing)
    finally:
        if telemetry is not None:
            telemetry.stop()


def _compute_with_one_thread() -> None:
    """Let PyTorch, if a model has imported it, compute with one thread: those that share a short text mostly wait."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


def check_can_serve(what: str) -> None:
    """Raise `UsageError` if a server lacks a package that it needs, or finds a variable that it cannot use."""
    from glassformer.data.installed import is_installed, pip_install

    if not all(map(is_installed, ("fastapi", "httptools", "prometheus_client", "uvicorn"))):
        raise UsageError(f"{what} needs an extra: {pip_install('serve')}")
    if any(name.startswith("OTEL_") for name in os.environ):
        with _variables_of_telemetry():
            import fastapi  # noqa: F401 (it asks OpenTelemetry, if that is installed)


def _telemetry() -> Telemetry:
    from glassformer.data.installed import pip_install

    try:
        from glassformer.serving.telemetry import Telemetry
    except ImportError as error:
        raise UsageError(f"--otel needs an extra: {pip_install('otel')}") from error
    with _variables_of_telemetry():
        return Telemetry.from_environment()


@contextmanager
def _variables_of_telemetry() -> Iterator[None]:
    """Raise `UsageError` if OpenTelemetry, which reads variables as it is imported, refuses one."""
    try:
        yield
    except ValueError as error:
        why = " ".join(words_of(error).split())
        raise UsageError(f"a variable OTEL_… cannot be used: {why}") from error


def _api_key(file: Path | None) -> str | None:
    """Return the key that requests need. It is no flag: other users of the machine see the flags of a program."""
    where = "the variable GLASSFORMER_API_KEY" if file is None else str(file)
    try:
        if file is not None and file.exists() and (not file.is_file() or file.stat().st_size > _MOST_BYTES):
            raise UsageError(f"{where}: the key cannot be read: it is no file of a line")  # a device may never end
        key = os.environ.get("GLASSFORMER_API_KEY") if file is None else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: the key cannot be read: {getattr(error, 'strerror', 'it is not UTF-8')}") from error
    if key is None:
        return None
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{where} holds no key; a key is one line of letters, digits and signs, without spaces")
    if len(key) < _SHORTEST:
        say(f"warning: a key of fewer than {_SHORTEST} characters can be guessed; `openssl rand -hex 32` makes one")
    return key


def in_words(reason: str) -> str:
    """Name the flags of the commands, but leave the keys of a request."""
    return as_flags(reason, leave=("above", "below", "group", "label", "method", "model", "text", "word"))


def _log(record: dict[str, Any]) -> None:
    insist(json.dumps(record))


def _log_event(event: str) -> None:
    _log({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event})


def say_finishing(requests: int) -> None:
    say(f"finishing {requests:,} request{'' if requests == 1 else 's'}; Ctrl-C again stops at once")


def open_in_browser(url: str) -> None:
    """Open the page. The browser waits until the server answers."""
    import webbrowser

    if not webbrowser.open(url):
        say("note: no browser could be opened; open the address yourself")
