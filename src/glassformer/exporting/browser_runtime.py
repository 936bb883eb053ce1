"""ONNX Runtime Web, which runs a transformer in a browser: read from a folder that the user names, never fetched."""

import re
from dataclasses import dataclass
from pathlib import Path

from glassformer.errors import UsageError

CODE_FILE, WASM_FILE = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
"""The smallest build: WebAssembly alone, without graphics cards."""
HOW_TO_GET_IT = (
    "run `npm pack onnxruntime-web`, unpack the file that it writes with `tar xzf`, and give `runtime='package'`"
)
_EXPORTS = re.compile(r"\bexport\s*\{([^{}]*)\};?")
_NEEDED = ("InferenceSession", "Tensor", "env")
_VERSION = re.compile(r"ONNX Runtime Web v((\d+)\.(\d+)[\w.-]*)")
OLDEST = (1, 24)
"""Older versions do not start in a page that was opened from a file."""


@dataclass(frozen=True, kw_only=True)
class BrowserRuntime:
    """The parts of ONNX Runtime Web that a page needs.

    Attributes:
        code: a classic script that sets `ort`. A page that was opened from a file may not start a module as a thread.
    """

    code: str
    wasm: bytes
    version: str


def read_browser_runtime(folder: Path) -> BrowserRuntime:
    """Read the files from the npm package's folder, or from its folder `dist`.

    Raises:
        UsageError: the folder does not hold them, or they are not what they should be.
    """
    dist = folder / "dist" if (folder / "dist").is_dir() else folder
    paths = [dist / name for name in (CODE_FILE, WASM_FILE)]
    for path in paths:
        if not path.is_file():
            raise UsageError(
                f"`runtime=`: {folder} is not the folder of ONNX Runtime Web: it has no {path.name}; {HOW_TO_GET_IT}"
            )
    code, wasm = paths[0].read_text(encoding="utf-8", errors="replace"), paths[1].read_bytes()
    exports = list(_EXPORTS.finditer(code))
    version = _VERSION.search(code)
    listed = exports[-1][1].split(",") if exports else []  # such as "a as Tensor"
    names = {exported.strip(): name.strip() for name, _, exported in (each.partition(" as ") for each in listed)}
    if not names.keys() >= set(_NEEDED) or version is None or re.search(r"</script|<!--|\0", code, re.IGNORECASE):
        raise UsageError(f"`runtime=`: {paths[0]} is not the code of ONNX Runtime Web as we know it; {HOW_TO_GET_IT}")
    if (int(version[2]), int(version[3])) < OLDEST:
        raise UsageError(
            f"`runtime=`: {folder} is ONNX Runtime Web {version[1]}, and version {OLDEST[0]}.{OLDEST[1]} or newer is "
            f"needed; {HOW_TO_GET_IT}"
        )
    if not wasm.startswith(b"\0asm"):
        raise UsageError(f"`runtime=`: {paths[1]} is not WebAssembly; {HOW_TO_GET_IT}")
    object_of = ", ".join(f"{name}: {names[name]}" for name in _NEEDED)
    code = code[: exports[-1].start()].replace("import.meta.url", "self.location.href")
    code += f"const ort = {{ {object_of} }};\n"
    return BrowserRuntime(code=code, wasm=wasm, version=version[1])
