"""Which packages are installed, and the command that installs what is missing."""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

LIGHT, _WHOLE = "glassformer-light", "glassformer"
_OF_LIGHT = {"onnx": ""} | {extra: f"[{extra}]" for extra in ("serve", "tables", "excel", "otel", "zstd")}
"""Its extras, and ONNX Runtime, which it has without any."""


def is_installed(package: str) -> bool:
    """Whether a package can be imported. It is not imported."""
    return find_spec(package) is not None


def pip_install(extra: str) -> str:
    """Return the command that installs an extra of the distribution that is installed here.

    For example `pip install 'glassformer[serve]'`, or `pip install 'glassformer-light[serve]'`. An extra that the light
    distribution does not have is that of the whole one. A distribution that came from a folder or a file of this
    machine gets its extra from there: `pip install -e '/home/me/glassformer[serve]'`.
    """
    for name, extras in ((LIGHT, _OF_LIGHT.get(extra)), (_WHOLE, f"[{extra}]")):
        if extras is not None and (found := _installed_from(name)):
            break
    else:
        found, extras = [_WHOLE], f"[{extra}]"
    return shlex.join(["pip", "install", *found[:-1], found[-1] + extras])


def _installed_from(name: str) -> list[str]:
    """Return what `pip install` is given for a distribution: its folder or file, if it is still there, or its name.

    It is empty if the distribution is not installed.
    """
    try:
        known = json.loads(distribution(name).read_text("direct_url.json") or "{}")  # PEP 610
    except PackageNotFoundError:
        return []
    url = urlsplit(known.get("url", ""))
    path = url2pathname(url.path)
    if url.scheme != "file" or not Path(path).exists():
        return [name]
    return ["-e", path] if known.get("dir_info", {}).get("editable") else [path]
