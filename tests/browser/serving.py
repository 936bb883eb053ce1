"""A server in this process, for a browser to open."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, expect
from starlette.types import ASGIApp

from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits
from glassformer.serving.listening import listen, server_at
from glassformer.serving.served_model import ServedModel


@contextmanager
def running(
    models: Mapping[str, ServedModel], *, limits: Limits | None = None, port: int = 0, **options: Any
) -> Iterator[str]:
    """Answer at the given URL until the end of the `with` block. `options` are those of `create_app`."""
    with answering(create_app(models, limits=limits, **options), port=port) as url:
        yield url


@contextmanager
def answering(app: ASGIApp, *, port: int = 0) -> Iterator[str]:
    """Answer requests to this application until the end of the `with` block."""
    address = listen("127.0.0.1", port)
    server = server_at(address, app, on_finishing=lambda _: None)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [address.listener]})
    thread.start()
    try:
        yield address.url
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def served_page(browser: Browser, models: Mapping[str, ServedModel], **options: Any) -> Iterator[Page]:
    """The page of these models. Nothing may go wrong in its console."""
    with running(models, **options) as url:
        page = browser.new_page()
        said = complaints(page)
        opened(page, url)
        yield page
        assert said == []
        page.close()


def opened(page: Page, url: str) -> None:
    """Open a page, and wait until it has asked the server what it shows."""
    page.goto(url)
    expect(page.get_by_text("Loading …", exact=True)).to_have_count(0)


def complaints(page: Page) -> list[str]:
    """What the console says from now on, and what is asked of other servers."""
    found: list[str] = []
    refused = "the server responded with a status of 422"  # which the page shows
    page.on("console", lambda message: None if refused in message.text else found.append(message.text))
    page.on("pageerror", lambda error: found.append(str(error)))
    page.on(
        "request", lambda request: None if request.url.startswith("http://127.0.0.1") else found.append(request.url)
    )
    return found
