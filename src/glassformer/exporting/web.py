"""Export a classifier as a page that answers in the browser: one HTML file that holds the model and all of its code.

A browser that opens a page from a file lets it load neither modules nor data from other files. So the modules of
`page/` are written one after the other into the page, and the files of an ONNX export are in it as compressed letters.
The page then needs no other file, and its policy forbids it every request.
"""

import base64
import gzip
import json
import re
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from glassformer.data.tokenizers import described
from glassformer.errors import UsageError, quoted
from glassformer.exporting.browser_rules import page_rules
from glassformer.exporting.browser_runtime import HOW_TO_GET_IT, BrowserRuntime, read_browser_runtime
from glassformer.exporting.onnx import Int8RefusedError, check_readers, write_onnx
from glassformer.pages.html import asset, digest, written
from glassformer.prediction.exported import MODEL_FILE
from glassformer.prediction.model_folder import TrainedModel
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.reader import BUILT_IN
from glassformer.readers.rules.reader import RulesReader
from glassformer.targets.parts import folder_of

PAGE_FILE = "index.html"
_WORKER = ("inputs", "tokenizer", "counting", "body", "rules", "unseen", "transformer", "answering", "files")
_SHARED = (
    "elements", "dom", "answer", "readers", "marked", "roving", "edits", "editor", "field", "fields", "words", "latest",
    "column", "desk",
)  # fmt: skip
FILES = (
    "tokenizer.json", "counting.json", "counting.safetensors", "readers/body/words.json",
    "readers/body/values.safetensors", "seen.safetensors", MODEL_FILE,
)  # fmt: skip
_IMPORT = re.compile(r"^import [^;]*;\n|^export \{[^}]*\};\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async |const |function|class))", re.MULTILINE)
_LEARNED = {"vocab", "merges", "unk_id"}  # by training a tokenizer


def write_web(trained: TrainedModel, folder: Path, *, name: str, runtime: Path | None) -> list[str]:
    """Write the page into an empty folder. The weights have one byte each, if that gives the same answers.

    Args:
        runtime: the folder of ONNX Runtime Web. A model that does not ask its transformer does not need it.

    Returns:
        Sentences for the user.

    Raises:
        UsageError: a reader or the tokenizer is not one of ours; the runtime is missing or not what it should be; or
            what `write_onnx` raises.
        GlassformerError, OSError, SafetensorError: see `write_onnx`.
    """
    check_readers(trained)
    if theirs := [quoted(name) for name in trained.config.weights if name not in BUILT_IN]:
        raise UsageError(
            "the page runs glassformer's own readers alone, and this model also asks "
            f"{' and '.join(theirs)}, which no browser runs; `format='onnx'` exports it for `glassformer predict`"
        )
    rules = trained.readers.get("rules")
    ruled = page_rules(rules) if isinstance(rules, RulesReader) else None
    ort = None
    if not trained.config.transformer_is_silent:
        _check_tokenizer(trained)
        if runtime is None:
            raise UsageError(f"the page needs ONNX Runtime Web to run the transformer; {HOW_TO_GET_IT}")
        ort = read_browser_runtime(runtime)
    with TemporaryDirectory(dir=folder) as aside:
        notes = _write_model(trained, Path(aside) / "int8", Path(aside) / "float32")
        model = next(path for path in (Path(aside) / "float32", Path(aside) / "int8") if path.is_dir())
        files = {Path(name).name: (model / name).read_bytes() for name in FILES if (model / name).is_file()}
    if ruled is not None:
        files["rules.json"] = json.dumps(ruled).encode()
    if ort is None:
        del files["tokenizer.json"]  # the counting reader cuts texts into words by itself
    else:
        files["runtime.wasm"] = ort.wasm
    (folder / PAGE_FILE).write_text(_page(trained, name, files, ort), encoding="utf-8")
    body = trained.readers.get("body")
    about = {"runtime": ort and ort.version, "body": body.read_in_words if isinstance(body, BodyReader) else None}
    card = written("exporting/web_card", name=name, notes=notes, ruled=ruled is not None, **about)
    (folder / "README.md").write_text(card, encoding="utf-8")
    return notes


def joined(*modules: str) -> str:
    """Return ES modules as one piece of code. Each comes after those that it imports; no two share a name."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", module)) for module in modules)


def worker_code(target: str, ort: BrowserRuntime | None) -> str:
    """Return the code that answers, for a thread of its own."""
    ours = joined(*(asset("exporting", f"page/{name}.js") for name in (*_WORKER, target, "worker")))
    runtime = "const ort = null;" if ort is None else ort.code
    return f'"use strict";\n{runtime}\n{{\n{ours}\n}}\n'  # the braces keep our names and theirs apart


def _write_model(trained: TrainedModel, int8: Path, float32: Path) -> list[str]:
    int8.mkdir()
    try:
        return write_onnx(trained, int8, precision="int8")
    except Int8RefusedError as refused:
        float32.mkdir()
        return [
            f"The weights have four bytes each: {refused.reason}.",
            *write_onnx(trained, float32, precision="float32"),
        ]


def _check_tokenizer(trained: TrainedModel) -> None:
    """Raise `UsageError` if the page cannot run the tokenizer."""
    config = trained.config.tokenizer
    if config.kind == "pretrained":
        raise UsageError(
            "its tokenizer came with a checkpoint (tokenizer.kind is 'pretrained'), and the page knows glassformer's "
            "own tokenizers alone"
        )
    theirs, ours = json.loads(trained.tokenizer.to_json()), described(config)
    for part in ("normalizer", "pre_tokenizer", "post_processor", "model"):
        known = {key: value for key, value in (ours[part] or {}).items() if key not in _LEARNED}
        if known != {key: value for key, value in (theirs[part] or {}).items() if key not in _LEARNED}:
            raise UsageError(
                f"its tokenizer is not as this version of glassformer makes it (its {part} differs); train it again"
            )


def _config(trained: TrainedModel, name: str) -> dict[str, Any]:
    """Return what the page needs to know, and nothing of where the model came from."""
    config = trained.config.model_dump(mode="json", include={"unlike", "tokenizer"})
    inputs = trained.config.inputs
    return (
        config
        | ({} if inputs is None else {"inputs": inputs.described()})
        | trained.config.target.part("exporting").page(trained)
        | {
            "name": name,
            "weights": trained.config.weights,
            "width": trained.config.n_classes,
            "max_seq_len": trained.config.model.max_seq_len,
            "asked": trained.config.asked,
        }
    )


def _page(trained: TrainedModel, name: str, files: dict[str, bytes], ort: BrowserRuntime | None) -> str:
    config = _config(trained, name)
    code = joined(*(asset("pages", f"{module}.js") for module in _SHARED), asset("exporting", "page/main.js"))
    style = asset("pages", "page.css") + asset("pages", "answer.css")
    compiles = "" if ort is None else " 'wasm-unsafe-eval'"
    policy = (
        f"default-src 'none'; script-src {digest(code)}{compiles}; worker-src blob:; style-src {digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "name": escape(f"{name}: {config['target']}" if "target" in config else name),
        "icon": f"data:image/svg+xml;base64,{_letters(asset('pages', 'icon.svg').encode())}",
        "style": style,
        "files": "\n".join(
            f'<script type="text/plain" data-file="{name}">{_letters(gzip.compress(content, 9, mtime=0))}</script>'
            for name, content in files.items()
        ),
        "worker": worker_code(folder_of(trained.config.target.kind), ort),
        "config": json.dumps(config, ensure_ascii=True).replace("<", "\\u003c"),
        "page": code,
    }
    template = asset("exporting", "page/index.html")
    return re.sub(rf"\{{({'|'.join(parts)})\}}", lambda found: parts[found[1]], template)


def _letters(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
