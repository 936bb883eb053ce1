import json
import shutil
from pathlib import Path

from tests.cli.terminal import failed, glassformer, misused
from tests.trained import Trained


def test_the_audit_is_shown_and_written_into_the_folder(reviews: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(reviews.folder, folder, ignore=shutil.ignore_patterns("evaluation"))  # another test may leave one
    said = glassformer("audit", folder, "--train", reviews.table)
    assert said.code == 0, said.err
    assert said.out.startswith(f"{folder}: ")
    places = [said.out.index(f"\n{level}: ") for level in ("problem", "worth knowing", "good")]
    assert places == sorted(places)
    assert "what leaves this machine: nothing" in said.out
    assert "seen.safetensors" in said.out
    assert f"page: {folder / 'audit.html'}" in said.err
    document = json.loads((folder / "audit.json").read_text())
    assert document["membership"]["members"] > document["membership"]["others"]
    again = glassformer("audit", folder, "--train", reviews.table, "--quiet", "--json")
    assert again.code == 0
    assert again.err == ""
    assert again.document["files"][0]["name"] == "README.md"
    assert {file["name"] for file in again.document["files"] if not file["give_away"]} == {"audit.html", "audit.json"}
    assert "problem" not in {finding["level"] for finding in again.document["findings"]}


def test_an_audit_goes_when_the_model_is_replaced(reviews: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(reviews.folder, folder)
    (folder / "audit.html").write_text("old")
    (folder / "audit.json").write_text("{}")
    quick = ("--preset", "tiny", "--epochs", 0)
    assert glassformer("train", reviews.table, "--out", folder, "--overwrite", *quick).code == 0
    assert not list(folder.glob("audit.*"))


def test_an_export_is_audited_by_its_files(reviews: Trained, tmp_path: Path) -> None:
    out = tmp_path / "onnx"
    assert glassformer("export", reviews.folder, "--format", "onnx", "--out", out).code == 0
    said = glassformer("audit", out, "--json")
    assert said.code == 0, said.err
    assert said.document["traced"] is None
    assert "audit the model folder" in said.document["unread"]
    stays = {file["name"] for file in said.document["files"] if not file["give_away"]}
    assert stays == set()
    misused(glassformer("audit", out, "--train", reviews.table), "is an export", "--train")


def test_the_shipped_model_needs_another_folder(tmp_path: Path) -> None:
    misused(glassformer("audit", "sentiment-en"), "add --out FOLDER")
    said = glassformer("audit", "sentiment-en", "--out", tmp_path / "out", "--json")
    assert said.code == 0, said.err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"audit.html", "audit.json"}
    again = ("audit", "sentiment-en", "--out", tmp_path / "out")
    misused(glassformer(*again), "holds an earlier report; choose another --out, or --overwrite to replace it")
    assert glassformer(*again, "--overwrite").code == 0


def test_misuse(reviews: Trained, tmp_path: Path) -> None:
    misused(glassformer("audit", tmp_path / "none"), "no such model folder")
    misused(glassformer("audit", reviews.table), "is a file", "a model folder is needed")
    misused(glassformer("audit", tmp_path), "is not a model folder")
    misused(glassformer("audit", reviews.folder, "--train", tmp_path / "gone.csv"), "gone.csv")
    changed = tmp_path / "changed.csv"
    changed.write_text("text,label\nfine,a\nbad,b\n")
    misused(glassformer("audit", reviews.folder, "--train", changed), "does not hold the rows", "--train")
    misused(glassformer("audit", reviews.folder, "--out", reviews.table), "is a file; name a folder")
    (tmp_path / "lost").symlink_to("gone")
    misused(glassformer("audit", reviews.folder, "--out", tmp_path / "lost"), "lost is a link that leads nowhere")
    other = tmp_path / "other"
    other.mkdir()
    (other / "audit.json").write_text("{}")
    misused(glassformer("audit", reviews.folder, "--out", other), "written by another program")
    broken = tmp_path / "broken"
    shutil.copytree(reviews.folder, broken)
    (broken / "tokenizer.json").write_text("{")
    failed(glassformer("audit", broken), "tokenizer.json")
    language = tmp_path / "language"
    language.mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (language / name).write_bytes(b"")
    (language / "config.json").write_text('{"format": "glassformer-language-model"}')
    misused(glassformer("audit", language), "holds a language model; a classifier is needed")
