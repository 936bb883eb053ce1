"""`glassformer serve`: a page and an API for one or two models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.options import Device, Json, Quiet
from glassformer.cli.output import doing, hush, print_json, say, show
from glassformer.errors import UsageError


def serve(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    other: Annotated[
        Path | None, typer.Argument(metavar="[MODEL2]", help="Another one, to compare answers side by side.")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    host: Annotated[
        str, typer.Option(metavar="<address>", help="The address to listen at. 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="<int>", help="The port. 0: any free one.")] = 8000,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Serve a page to play with a model, and an API, on this machine. Ctrl-C stops it."""
    if quiet:
        hush()
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError("serving needs an extra: pip install 'glassformer[serve]'") from error
    from glassformer.prediction.devices import choose_device
    from glassformer.serving.api import create_app
    from glassformer.serving.listening import allowed_hosts, answer_requests, listen
    from glassformer.serving.served_model import load_models

    models = load_models([folder for folder in (model, other) if folder is not None], device=choose_device(device))
    address = listen(host, port)
    app = create_app(models, hosts=allowed_hosts(address))
    if not address.is_private:
        say("warning: other machines can reach this server, and nobody has to log in")
    if json:
        print_json({"url": address.url, "models": list(models)})
    else:
        show(f"{' and '.join(models)}: {address.url}    (Ctrl-C stops it)")
    if open_page:
        _open(address.url)
    doing("")  # show nothing while no request comes
    answer_requests(app, address)


def _open(url: str) -> None:
    """Open the page. The browser waits until the server answers."""
    import webbrowser

    if not webbrowser.open(url):
        say("note: no browser could be opened; open the address yourself")
