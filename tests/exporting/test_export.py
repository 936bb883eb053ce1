import errno
import json
import os
import resource
import stat
from pathlib import Path
from typing import Any

import pytest

from glassformer.data.checksums import SUMS_FILE
from glassformer.data.files import aside_of, folder_written_aside
from glassformer.data.model_marks import RECORD_FILE
from glassformer.errors import GlassformerError, UsageError
from glassformer.exporting.export import FORMATS, Format, export
from glassformer.models.model_config import ModelConfig
from glassformer.prediction.verify import verify
from tests.exporting.samples import from_scratch, saved

FILES = {
    "README.md",
    "config.json",
    "glassformer.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    SUMS_FILE,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(tmp_path / "model", from_scratch())


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_folder_and_what_is_said_of_it(model: Path, tmp_path: Path) -> None:
    found = export(model, tmp_path / "out", to="transformers")
    assert names(tmp_path / "out") == FILES == found.files.keys()
    assert all((tmp_path / "out" / name).stat().st_size == size for name, size in found.files.items())
    assert len({stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()}) == 1
    assert "EuroBERT" in found.notes[0]
    assert "read back" in found.notes[-1]
    assert names(tmp_path) == {"model", "out"}


def test_every_format_says_what_it_is_for() -> None:
    assert all(known.purpose.endswith(".") for known in FORMATS.values())


def test_an_export_is_replaced_only_if_asked(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()  # an empty folder is as good as none
    export(model, out, to="transformers")
    (out / "extra").write_text("")
    with pytest.raises(UsageError, match=r"already holds an export.*`overwrite=True`"):
        export(model, out, to="transformers")
    with pytest.raises(UsageError, match=r"holds a file of yours, 'extra'; move it elsewhere"):
        export(model, out, to="transformers", overwrite=True)
    (out / "extra").rename(out / ".git")
    with pytest.raises(UsageError, match=r"holds a file of yours, '\.git'"):
        export(model, out, to="transformers", overwrite=True)
    (out / ".git").unlink()
    export(model, out, to="transformers", overwrite=True)
    assert names(out) == FILES
    assert names(tmp_path) == {"model", "out"}


def test_a_link_stays_and_its_folder_is_replaced(model: Path, tmp_path: Path) -> None:
    export(model, tmp_path / "out", to="transformers")
    (tmp_path / "out" / RECORD_FILE).write_text("{}")
    (tmp_path / "current").symlink_to("out")
    export(model, tmp_path / "current", to="transformers", overwrite=True)
    assert (tmp_path / "current").is_symlink()
    assert (tmp_path / "out" / RECORD_FILE).read_text() != "{}"
    assert {path.name for path in tmp_path.iterdir()} == {"model", "out", "current"}


def test_files_of_others_are_never_replaced(model: Path) -> None:
    with pytest.raises(UsageError, match="other files in it"):
        export(model, model, to="transformers", overwrite=True)
    assert (model / "metrics.json").exists()


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("model/config.json", "is a file"),
        *(("loop", "loop is a link that leads nowhere; remove it"), ("lost", "lost is a link that leads nowhere")),
    ],
)
def test_places_that_cannot_be_written_to(out: str, words: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lost").symlink_to("gone/out")
    with pytest.raises(UsageError, match=words):
        export(model, tmp_path / out, to="transformers")


def test_the_folders_above_are_made_as_train_makes_them(model: Path, tmp_path: Path) -> None:
    export(model, tmp_path / "a" / "b" / "out", to="transformers")
    assert not verify(tmp_path / "a" / "b" / "out").damaged
    with pytest.raises(GlassformerError, match="could not be written"):
        export(model, model / "config.json" / "out", to="transformers")


def test_an_unknown_format(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`format='gguf'`.*\ntransformers: A folder"):
        export(model, tmp_path / "out", to="gguf")


def test_a_refusal_names_the_model_and_leaves_nothing(tmp_path: Path) -> None:
    model = saved(tmp_path / "model", from_scratch(ModelConfig(d_model=16, n_heads=2, norm="layer")))
    with pytest.raises(UsageError, match=r"model cannot be exported as transformers: .*model\.norm is 'layer'"):
        export(model, tmp_path / "out", to="transformers")
    assert names(tmp_path) == {"model"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_full_disk_leaves_what_was_there(
    overwrite: bool, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if overwrite:
        export(model, tmp_path / "out", to="transformers")

    def fill(_: Any, folder: Path) -> list[str]:
        (folder / "half").write_text("")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setitem(FORMATS, "transformers", Format(purpose="Full.", write=fill, use=""))
    with pytest.raises(GlassformerError, match=r"export could not be written.*No space left.*Free at least"):
        export(model, tmp_path / "out", to="transformers", overwrite=overwrite)
    assert names(tmp_path) == ({"model", "out"} if overwrite else {"model"})
    if overwrite:
        assert json.loads((tmp_path / "out" / RECORD_FILE).read_text())["format"] == "transformers"
        assert names(tmp_path / "out") == FILES


@pytest.mark.parametrize("limit", [100, 2_000, 10_000])  # the first JSON file, the tokenizer, the weights
def test_files_that_may_not_be_so_large(limit: int, model: Path, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(GlassformerError, match=r"export could not be written: .*File too large"):
            export(model, tmp_path / "out", to="transformers")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert names(tmp_path) == {"model"}


@pytest.mark.parametrize("out", [".", ".."])
def test_the_current_folder_is_not_replaced(
    out: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(
        UsageError, match=r"`out=`: \.+ is replaced as a whole; name a folder in it, such as .*exported"
    ):
        export(model, Path(out), to="transformers")
    assert names(tmp_path) == {"model", "here"}


def test_what_a_killed_process_of_the_same_number_left_is_in_nobodys_way(tmp_path: Path) -> None:
    left = aside_of(tmp_path / "out")
    left.mkdir()
    (left / "half").write_text("")
    with folder_written_aside(tmp_path / "out") as aside:
        (aside / "new").write_text("")
    assert names(tmp_path) == {"out"}
    assert names(tmp_path / "out") == {"new"}


def test_a_folder_that_can_be_put_nowhere_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("")
    move = Path.replace

    def fail(path: Path, target: Path) -> Path:
        if target.name == "out":
            raise OSError("no")
        return move(path, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no"), folder_written_aside(tmp_path / "out"):
        pass
    (kept,) = tmp_path.iterdir()
    assert names(kept) == {"old"}


def test_a_folder_that_cannot_be_put_in_place_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("")
    move = Path.replace

    def fail(path: Path, target: Path) -> Path:
        if "writing" in path.name:
            raise OSError("no")
        return move(path, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no"), folder_written_aside(tmp_path / "out") as aside:
        (aside / "new").write_text("")
    assert names(tmp_path) == {"out"}
    assert names(tmp_path / "out") == {"old"}
