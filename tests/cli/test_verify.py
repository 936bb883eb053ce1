import shutil
from pathlib import Path

from glassformer.data.locks import only_writer
from tests.cli.shards import write_shards
from tests.cli.terminal import failed, glassformer, misused
from tests.support import flipped
from tests.trained import Trained


def test_a_model_and_a_changed_file(reviews: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(reviews.folder, folder)
    said = glassformer("verify", folder)
    assert said.code == 0, said.err
    assert said.out.endswith("files as written\n")
    path = folder / "counting.safetensors"
    path.write_bytes(flipped(path.read_bytes(), -2))
    failed(
        glassformer("verify", folder),
        f"{folder}: changed since it was written: counting.safetensors. If you did not change it, ",
    )
    failed(glassformer("predict", folder, "good"), "counting.safetensors is not as it was written")
    assert glassformer("verify", folder, "--json").document["damaged"] == ["counting.safetensors"]
    (folder / "tokenizer.json").unlink()
    both = (
        "changed since it was written: counting.safetensors; missing: tokenizer.json. If you did not change it, do not "
        "use the folder: copy it again"
    )
    failed(glassformer("verify", folder), both)
    misused(glassformer("verify", tmp_path / "absent"), "there is no folder")


def test_what_a_run_is_writing_is_not_called_damaged(reviews: Trained, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(reviews.folder, folder)
    (folder / "tokenizer.json").unlink()
    with only_writer(folder):
        misused(glassformer("verify", folder), f"{folder} is in use", "verify it when that has ended")
    failed(glassformer("verify", folder), "missing: tokenizer.json")


def test_of_many_files_some_are_named(tmp_path: Path) -> None:
    sums = tmp_path / "SHA256SUMS"
    sums.write_text("".join(f"{number:064x}  file{number:04}\n" for number in range(5_000)))
    failed(glassformer("verify", tmp_path), "missing: file0000, file0001, ", "file0019 and 4,980 more. Copy")
    assert len(glassformer("verify", tmp_path, "--json").document["missing"]) == 5_000
    sums.write_text(f"{7:064x}  {'a' * 256}\n")
    failed(glassformer("verify", tmp_path), "SHA256SUMS is damaged: line 1 is no checksum and name of a file")


def test_the_shipped_model_is_as_written() -> None:
    said = glassformer("verify", "sentiment-en")
    assert (said.code, said.out, said.err) == (0, "8 files as written\n", "")


def test_an_export_and_answers_to_shards(reviews: Trained, tmp_path: Path) -> None:
    assert glassformer("export", reviews.folder, "--format", "onnx", "--out", tmp_path / "onnx").code == 0
    assert glassformer("verify", tmp_path / "onnx").code == 0
    path = tmp_path / "onnx" / "config.json"
    path.write_text(path.read_text().replace('"temperature": ', '"temperature": 1'))
    failed(glassformer("verify", tmp_path / "onnx"), "changed since it was written: config.json")
    failed(glassformer("predict", tmp_path / "onnx", "good"), "config.json is not as it was written")
    shards = write_shards(tmp_path / "shards", 2, 5)
    answers = tmp_path / "answers"
    assert glassformer("predict", reviews.folder, "--file", shards, "--out", answers).code == 0
    assert glassformer("verify", answers).out == "2 files as written\n"
    first = min(answers.glob("*.parquet"))
    first.write_bytes(flipped(first.read_bytes(), 20))
    failed(glassformer("verify", answers), f"changed since it was written: {first.name}")
