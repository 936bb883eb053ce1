"""Fetch an object, or all objects of a folder, from S3 or a server that speaks like it."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from glassformer.data.download import Progress, is_safe, save
from glassformer.data.formats.format import is_hidden
from glassformer.data.installed import pip_install
from glassformer.errors import GlassformerError, UsageError, quoted, words_of

_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_SKIP_SIGNATURE",
)  # fmt: skip
_NO_CREDENTIALS = (
    ". No credentials are set: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a "
    "public bucket"
)
_RETRIES = {"max_retries": 2}


def fetch_object(address: str, target: Path, progress: Progress) -> None:
    """Fetch the object of an address to a file; or those of a folder, whose address ends with /, to a folder.

    Credentials, region and endpoint come from the variables that the AWS tools read: AWS_ACCESS_KEY_ID and others.

    Raises:
        UsageError: there is nothing of this name, or the folder holds folders, or an extra is missing.
        GlassformerError: the store cannot be reached, refuses, or stops early.
    """
    try:
        stores, errors = (importlib.import_module(f"obstore.{name}") for name in ("store", "exceptions"))
    except ImportError as error:
        raise UsageError(f"{address} needs an extra: {pip_install('remote')}") from error
    parts = urlsplit(address, allow_fragments=False)
    key = parts.path.lstrip("/")
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    options = {"connect_timeout": "10s", **({"allow_http": True} if endpoint and is_safe(endpoint) else {})}
    try:
        store = stores.S3Store(parts.netloc, client_options=options, retry_config=_RETRIES)
        if not key.endswith("/"):
            _fetch(store, key, target, progress)
            return
        found = store.list_with_delimiter(key)
        paths = [each["path"] for each in found["objects"] if not each["path"].endswith("/")]
        wanted = [path for path in paths if not is_hidden(Path(path))]
        if deeper := found["common_prefixes"]:
            raise UsageError(
                f"{address} holds the folder {quoted(Path(deeper[0]).name)}. The files of one table lie side by side; "
                "name that folder, or a file."
            )
        if not wanted:
            raise UsageError(f"{address}: nothing is there.")
        target.mkdir()
        for path in wanted:
            _fetch(store, path, target / Path(path).name, progress)
    except (FileNotFoundError, errors.NotFoundError) as error:
        raise UsageError(f"{address}: no such object. A folder is named with / at its end: {address}/") from error
    except (OSError, errors.BaseError) as error:
        hint = "" if any(os.environ.get(name) for name in _CREDENTIALS) else _NO_CREDENTIALS
        raise GlassformerError(f"{address} could not be fetched: {words_of(error)}{hint}") from error


def _fetch(store: Any, key: str, target: Path, progress: Progress) -> None:
    answer = store.get(key)
    with target.open("wb") as file:
        save(answer, file, answer.meta["size"], progress)
