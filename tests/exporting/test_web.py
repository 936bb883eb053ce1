import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.checksums import SUMS_FILE
from glassformer.errors import UsageError
from glassformer.exporting.browser_runtime import CODE_FILE, WASM_FILE
from glassformer.exporting.export import export
from glassformer.exporting.web import write_web
from glassformer.pages.html import digest
from tests.cli.terminal import glassformer, misused
from tests.explanation.test_explain import two_readers
from tests.exporting.samples import from_scratch, saved
from tests.exporting.test_onnx import without_checks_of_shapes as without_checks_of_shapes  # a fixture
from tests.prediction.samples import SMALL
from tests.trained import Trained

CODE = """/*!
 * ONNX Runtime Web v9.8.7
 */
var a=1,b=import.meta.url,c=3;export{a as InferenceSession,b as Tensor,c as env};
//# sourceMappingURL=x.map"""
FILES = {"README.md", "glassformer.json", "index.html", SUMS_FILE}


def runtime(folder: Path, *, code: str = CODE, wasm: bytes = b"\0asm and more") -> Path:
    """A folder like the npm package's, with files that are not the real ones."""
    (folder / "dist").mkdir(parents=True)
    (folder / "dist" / CODE_FILE).write_text(code)
    (folder / "dist" / WASM_FILE).write_bytes(wasm)
    return folder


def written(trained: Any, folder: Path, runtime: Path | None) -> tuple[str, list[str]]:
    folder.mkdir()
    notes = write_web(trained, folder, name="a <model>", runtime=runtime)
    return (folder / "index.html").read_text(encoding="utf-8"), notes


def files_in(page: str) -> dict[str, bytes]:
    packed = re.findall(r'<script type="text/plain" data-file="([^"]+)">([^<]*)</script>', page)
    return {name: gzip.decompress(base64.b64decode(letters)) for name, letters in packed}


def config_in(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="config">(.*?)</script>', page)
    assert found is not None
    return dict(json.loads(found[1]))


@pytest.fixture(scope="module")
def of_two_readers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list[str]]:
    """A folder with a page, the page and what was noted about it."""
    folder = tmp_path_factory.mktemp("exports")
    return folder, *written(two_readers(), folder / "web", runtime(folder / "package"))


def test_the_page_holds_the_model_and_the_runtime(of_two_readers: tuple[Path, str, list[str]]) -> None:
    folder, page, notes = of_two_readers
    files = files_in(page)
    assert files.keys() == {
        "tokenizer.json", "counting.json", "counting.safetensors", "model.onnx", "runtime.wasm"
    }  # fmt: skip
    assert files["runtime.wasm"] == b"\0asm and more"
    assert "four bytes each: int8 must be checked on validation rows" in notes[0]
    config = config_in(page)
    assert (config["temperature"], config["max_seq_len"]) == (1.5, SMALL.max_seq_len)
    assert (config["name"], config["labels"]) == ("a <model>", ["bad", "fine", "good"])
    assert "const ort = { InferenceSession: a, Tensor: b, env: c };" in page
    assert "import.meta" not in page
    assert "sourceMappingURL" not in page
    readme = (folder / "web" / "README.md").read_text()
    assert "ONNX Runtime Web 9.8.7, Copyright (c) Microsoft" in readme


def test_the_policy_names_the_code_and_allows_no_request(of_two_readers: tuple[Path, str, list[str]]) -> None:
    _, page, _ = of_two_readers
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (code,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": f"{digest(code)} 'wasm-unsafe-eval'",
        "style-src": digest(style),
        "worker-src": "blob:",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    ours = re.sub(r'<script type="text/plain" data-file.*?</script>', "", page, flags=re.DOTALL)
    assert not re.search(
        r"\b(import|export) [{*]|\bfetch\(|innerHTML|https?://(?!www\.w3\.org)", ours.replace(CODE, "")
    )
    assert "<title>a &lt;model&gt; · glassformer</title>" in page


def test_the_page_says_nothing_of_where_the_model_comes_from(of_two_readers: tuple[Path, str, list[str]]) -> None:
    folder, page, _ = of_two_readers
    said = page + "".join(content.decode("latin-1") for content in files_in(page).values())
    assert "reviews.csv" not in said
    assert str(folder) not in said


def test_a_model_whose_transformer_is_not_asked_needs_no_runtime(reviews: Trained, tmp_path: Path) -> None:
    found = export(reviews.folder, tmp_path / "out", to="web")
    assert found.files.keys() == FILES == {path.name for path in (tmp_path / "out").iterdir()}
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    body = {"words.json", "values.safetensors"}
    assert files_in(page).keys() == {"counting.json", "counting.safetensors", "seen.safetensors"} | body
    assert "wasm-unsafe-eval" not in page
    assert "Microsoft" not in page
    assert config_in(page)["name"] == reviews.folder.name
    assert "The page holds n-grams of the training texts" in (tmp_path / "out" / "README.md").read_text()
    assert export(reviews.folder, tmp_path / "out", to="web", overwrite=True).files == found.files
    assert (tmp_path / "out" / "index.html").read_text(encoding="utf-8") == page  # the same bytes each time


def test_weights_of_one_byte_are_taken_if_they_pass(
    attending: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(attending.table.parent)
    package = runtime(tmp_path / "package")
    small = export(attending.folder, tmp_path / "int8", to="web", runtime=package)
    assert small.notes == [small.notes[0]]
    assert "get the same labels as from the model" in small.notes[0]
    monkeypatch.setattr("glassformer.targets.labels.exporting.LEAST_AGREEMENT", 1.1)
    large = export(attending.folder, tmp_path / "float32", to="web", runtime=package / "dist")
    assert large.notes[0].startswith("The weights have four bytes each: int8 would change the answers: on ")
    assert "format" not in large.notes[0]
    assert small.files["index.html"] < large.files["index.html"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "the page needs ONNX Runtime Web .* run `npm pack onnxruntime-web`"),
        ("none", f"none is not the folder of ONNX Runtime Web: it has no {re.escape(CODE_FILE)}.*npm pack"),
        ("no wasm", f"it has no {re.escape(WASM_FILE)}"),
        ("other code", "is not the code of ONNX Runtime Web as we know it"),
        ("hostile code", "is not the code of ONNX Runtime Web as we know it"),
        ("old code", r"is ONNX Runtime Web 1\.23\.2, and version 1\.24 or newer is needed"),
        ("other wasm", "is not WebAssembly"),
    ],
)
def test_a_runtime_that_is_not_there_or_not_one(given: str | None, says: str, tmp_path: Path) -> None:
    package = runtime(tmp_path / "package")
    match given:
        case "no wasm":
            (package / "dist" / WASM_FILE).unlink()
        case "other code":
            (package / "dist" / CODE_FILE).write_text("export default 1;")
        case "old code":
            (package / "dist" / CODE_FILE).write_text(CODE.replace("9.8.7", "1.23.2"))
        case "hostile code":
            (package / "dist" / CODE_FILE).write_text(CODE.replace("var a", "'</script><script>'; var a"))
        case "other wasm":
            (package / "dist" / WASM_FILE).write_bytes(b"<html>")
    folder = {None: None, "none": tmp_path / "none"}.get(given, package)
    with pytest.raises(UsageError, match=says):
        written(two_readers(), tmp_path / "web", folder)
    assert list((tmp_path / "web").iterdir()) == []


def test_tokenizers_that_the_page_cannot_run(tmp_path: Path) -> None:
    trained = from_scratch()
    package = runtime(tmp_path / "package")
    of_checkpoint = trained.config.model_copy(
        update={"tokenizer": trained.config.tokenizer.model_copy(update={"kind": "pretrained"})}
    )
    with pytest.raises(UsageError, match=r"came with a checkpoint \(tokenizer.kind is 'pretrained'\)"):
        written(replace(trained, config=of_checkpoint), tmp_path / "checkpoint", package)
    cased = trained.config.model_copy(
        update={"tokenizer": trained.config.tokenizer.model_copy(update={"lowercase": False})}
    )
    with pytest.raises(UsageError, match=r"not as this version of glassformer makes it \(its normalizer differs\)"):
        written(replace(trained, config=cased), tmp_path / "cased", package)


def test_the_command(attending: Trained, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "web")
    misused(glassformer("export", attending.folder, "--format", "web", *out), "npm pack", "--runtime package")
    misused(
        glassformer("export", attending.folder, "--format", "web", *out, "--runtime", tmp_path),
        "--runtime",
        "has no ort",
    )
    package = runtime(tmp_path / "package")
    misused(
        glassformer("export", attending.folder, "--format", "onnx", *out, "--runtime", package),
        "--runtime is for",
        "web",
    )
    assert not (tmp_path / "web").exists()
    said = glassformer("export", attending.folder, "--format", "web", *out, "--runtime", package)
    assert said.out.startswith(f"{tmp_path / 'web'}: {attending.folder} as web, ")
    saved(tmp_path / "other", from_scratch())
    misused(
        glassformer("export", tmp_path / "other", "--format", "web", *out), "already holds an export", "--overwrite"
    )
