from pathlib import Path

import pytest

from glassformer.data.checksums import SUMS_FILE
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.model_folder import CLASSIFIER, load_model, save_model
from glassformer.prediction.verify import verify
from tests.prediction.samples import small_trained_model
from tests.support import flipped


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", small_trained_model(), card="# A model\n")
    return tmp_path / "model"


def test_a_byte_of_any_file_that_answers_need(folder: Path) -> None:
    """Every place of a small file and some of the weights: the model is never loaded as if nothing had happened."""
    for name in ("config.json", "tokenizer.json", "model.safetensors", "metrics.json"):
        path = folder / name
        content = path.read_bytes()
        for at in range(0, len(content), max(1, len(content) // 40)):
            path.write_bytes(flipped(content, at))
            with pytest.raises(GlassformerError):
                load_model(folder, CLASSIFIER)
            assert verify(folder).damaged == [name]
        path.write_bytes(content)
    load_model(folder, CLASSIFIER)


def test_what_is_said_of_a_changed_weight(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(flipped(path.read_bytes(), -4))
    with pytest.raises(GlassformerError, match=r"model\.safetensors is not as it was written.*SHA256SUMS. Copy"):
        load_model(folder, CLASSIFIER)
    (folder / SUMS_FILE).unlink()
    load_model(folder, CLASSIFIER)


def test_files_that_were_added_or_lost(folder: Path) -> None:
    (folder / "evaluation").mkdir()
    (folder / "evaluation" / "report.html").write_text("later")
    (folder / "README.md").write_text("# Mine\n")
    load_model(folder, CLASSIFIER)  # a card may be edited
    (folder / "metrics.json").unlink()
    found = verify(folder)
    assert found.damaged == ["README.md", "metrics.json"]
    assert found.unknown == ["evaluation/report.html"]
    assert found.whole == ["config.json", "model.safetensors", "tokenizer.json"]


def test_folders_that_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        verify(tmp_path / "absent")
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(
        UsageError, match=r"no file of .* has a checksum: it is not of glassformer, or was made by an o"
    ):
        verify(tmp_path)
