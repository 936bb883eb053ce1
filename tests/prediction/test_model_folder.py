import dataclasses
import errno
import json
import math
import platform
import resource
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from glassformer.data.checksums import SUMS_FILE, read_sums
from glassformer.data.files import aside_of
from glassformer.data.locks import only_writer
from glassformer.data.model_marks import RECORD_FILE
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction import weights_file as weights_module
from glassformer.prediction.folder_format import FORMAT_VERSION, is_model_folder
from glassformer.prediction.folder_names import of_other_rows
from glassformer.prediction.model_folder import CLASSIFIER, load_model, save_model
from glassformer.prediction.verify import verify
from tests.prediction.samples import SMALL, small_trained_model

WIDE = SMALL.model_copy(update={"d_model": 64})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", small_trained_model(), card="# A model\n")
    return tmp_path / "model"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def contents_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def edited(**values: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))

    return edit


def target_edited(**values: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        edited(target=json.loads((folder / "config.json").read_text())["target"] | values)(folder)

    return edit


def test_what_is_saved_is_loaded(folder: Path) -> None:
    saved, loaded = small_trained_model(), load_model(folder, CLASSIFIER)
    assert loaded.config == saved.config
    assert loaded.metrics == {"best_epoch": 3}
    assert loaded.tokenizer.vocabulary() == saved.tokenizer.vocabulary()
    assert not loaded.model.training
    for name, tensor in saved.model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], tensor)
    assert loaded.config.label_set.names == ("bad", "fine", "good")
    assert loaded.config.n_classes == 3


def test_a_folder_holds_what_it_should_and_nothing_executable(folder: Path) -> None:
    described = {"config.json", "tokenizer.json", "model.safetensors", "metrics.json", "README.md"}
    assert set(contents(folder)) == {*described, SUMS_FILE}
    assert set(read_sums(folder)) == described
    assert (folder / "README.md").read_text() == "# A model\n"
    assert is_model_folder(folder)


def test_other_files_in_the_folder_are_left_alone(folder: Path) -> None:
    (folder / "notes.html").write_text("mine")
    save_model(folder, small_trained_model(seed=2), card="")
    assert (folder / "notes.html").read_text() == "mine"


def test_the_evaluation_of_a_replaced_model_goes_with_it(tmp_path: Path) -> None:
    evaluation = tmp_path / "evaluation"
    evaluation.mkdir()
    other_rows = [of_other_rows(name, "my-test.csv", "0123456789ab") for name in ("report.html", "metrics.json")]
    for name in ("report.html", "metrics.json", *other_rows, "mine.txt", "report-mine.html"):
        (evaluation / name).write_text("of another model")
    save_model(tmp_path, small_trained_model(), card="")
    assert len(contents(evaluation)) == 6  # there was no model here that they could have measured
    save_model(tmp_path, small_trained_model(seed=2), card="")
    assert set(contents(evaluation)) == {"mine.txt", "report-mine.html"}
    for path in evaluation.iterdir():
        path.unlink()
    save_model(tmp_path, small_trained_model(seed=3), card="")
    assert not evaluation.exists()


@pytest.mark.parametrize(
    ("config", "ours"),
    [
        ('{"format": "glassformer-classifier"}', True),
        ('{"format": "glassformer-language-model", "model": {"d_mo', True),  # cut short
        ('{"model_type": "bert", "architectures": ["BertModel"]}', False),
        ('{"format": "glassformer", "name": "glassformer-classifier"}', False),
        ('["glassformer-classifier"]', False),
        ("", False),
    ],
)
def test_a_model_folder_is_known_by_the_format_in_its_config(config: str, ours: bool, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(config)
    assert is_model_folder(tmp_path) is ours


def test_an_unfinished_run_says_that_it_is_one(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "run.json").write_text("{}")
    with pytest.raises(
        UsageError, match="holds an unfinished run; to continue it, repeat its command with `resume=True`"
    ):
        load_model(tmp_path, CLASSIFIER)


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-40])


def header_cut(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\x10")


def other_tokenizer(folder: Path) -> None:
    TextTokenizer.train(["quite other words"], TokenizerConfig(min_frequency=1)).save(folder / "tokenizer.json")


def other_weights(folder: Path) -> None:
    other = small_trained_model(model=SMALL.model_copy(update={"n_layers": 2}))
    save_model(folder / "other", other, card="")
    (folder / "other" / "model.safetensors").replace(folder / "model.safetensors")


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def written(name: str, text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text(text)

    return write


@pytest.mark.parametrize(
    ("damage", "kind", "words"),
    [
        (without("config.json"), GlassformerError, r"config\.json is missing"),
        (without("tokenizer.json"), GlassformerError, r"tokenizer\.json is missing"),
        (without("model.safetensors"), GlassformerError, r"model\.safetensors is missing"),
        (cut, GlassformerError, r"model\.safetensors is cut short or damaged"),
        (header_cut, GlassformerError, r"model\.safetensors is cut short or damaged"),
        (edited(format_version=FORMAT_VERSION + 1), GlassformerError, f"format version {FORMAT_VERSION + 1}.*update"),
        (
            edited(format_version=7),
            GlassformerError,
            "format version 7, from before glassformer 0.1.0.*`glassformer train`",
        ),
        (edited(format_version="new"), GlassformerError, "format_version"),
        (edited(format="another-program"), UsageError, "not a glassformer model folder"),
        (target_edited(temperature="warm"), GlassformerError, "temperature.*damaged"),
        (target_edited(temperature=0), GlassformerError, "temperature.*damaged"),
        (edited(model=SMALL.model_dump() | {"d_model": 2**40}), GlassformerError, "d_model.*less than or equal"),
        (edited(model=SMALL.model_dump() | {"embedding": "one-hot"}), GlassformerError, "cannot be built.*one-hot"),
        (target_edited(labels=["bad", "good"]), GlassformerError, "come from different models"),
        (written("config.json", '{"format": "glass'), GlassformerError, r"config\.json is not readable JSON"),
        (written("config.json", "[1]"), UsageError, "not a glassformer model folder"),
        (written("metrics.json", "{"), GlassformerError, r"metrics\.json is not readable JSON"),
        (written("metrics.json", "[]"), GlassformerError, r"metrics\.json does not hold figures by name"),
        (written("tokenizer.json", "{}"), GlassformerError, "not a readable tokenizer"),
        (other_tokenizer, GlassformerError, "come from different models"),
        (other_weights, GlassformerError, "come from different models"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_damaged_folder_is_one_sentence(
    folder: Path, damage: Callable[[Path], None], kind: type[GlassformerError], words: str
) -> None:
    damage(folder)
    with pytest.raises(GlassformerError, match=words) as caught:
        load_model(folder, CLASSIFIER)
    assert type(caught.value) is kind
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_folder_and_another_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such model folder"):
        load_model(tmp_path / "absent", CLASSIFIER)
    with pytest.raises(UsageError, match=r"is not a model folder: it holds no config\.json"):
        load_model(tmp_path, CLASSIFIER)


def test_metrics_may_be_absent(folder: Path) -> None:
    (folder / "metrics.json").unlink()
    assert load_model(folder, CLASSIFIER).metrics == {}


def evaluated(folder: Path) -> None:
    """Put beside a model what other commands say about it."""
    for name in ("audit.json", "evaluation/metrics.json", "snapshots/time-lapse.html"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("about this model")


def disk_full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_failure_in_writing_leaves_the_old_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(folder)

    monkeypatch.setattr(weights_module, "save_file", disk_full)
    with pytest.raises(GlassformerError, match=r"could not be written: .*No space left.*takes .* MB.*Free at least"):
        save_model(folder, small_trained_model(seed=2), card="other")
    assert contents(folder) == before


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")], ids=["stop", "error"]
)
@pytest.mark.parametrize("new", [False, True])
def test_a_model_that_is_half_in_its_place_goes_and_the_old_one_comes_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, new: bool
) -> None:
    out = folder.with_name("new") if new else folder
    files, replace = len(list(folder.iterdir())), Path.replace
    evaluated(folder)
    before = {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
    for moves in range(files if new else 2 * files + 3):
        left = [moves]

        def stopped(path: Path, target: Path, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise error
            replace(path, target)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", stopped)
            with pytest.raises((KeyboardInterrupt, GlassformerError)):
                save_model(out, small_trained_model(seed=2), card="other")
        assert {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")} == before
        assert [*folder.parent.iterdir()] == [folder]


def test_what_is_written_is_read_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(folder)

    def half(weights: dict[str, torch.Tensor], path: Path) -> None:
        save_file(weights, path)
        path.write_bytes(path.read_bytes()[:-1])

    monkeypatch.setattr(weights_module, "save_file", half)
    with pytest.raises(GlassformerError, match=r"could not be written: .*cut short"):
        save_model(folder, small_trained_model(seed=2), card="other")
    assert contents(folder) == before


@pytest.mark.parametrize("limit", [100, 4000, 20_000], ids=["config", "tokenizer", "weights"])
def test_a_limit_on_file_sizes_leaves_the_old_model(limit: int, folder: Path) -> None:
    before = contents(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(
            GlassformerError, match=r"could not be written: .*File too large; it takes .* MB.*raise the limit"
        ):
            save_model(folder, small_trained_model(seed=2, model=WIDE), card="other")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert contents(folder) == before


def test_a_new_folder_that_cannot_be_filled_is_not_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_module, "save_file", disk_full)
    with pytest.raises(GlassformerError, match="No space left"):
        save_model(tmp_path / "model", small_trained_model(), card="")
    assert not (tmp_path / "model").exists()


def test_a_folder_in_the_place_of_a_file_costs_no_model(folder: Path) -> None:
    (folder / "README.md").unlink()
    (folder / "README.md").mkdir()
    before = (folder / "config.json").read_bytes()
    with pytest.raises(GlassformerError, match=r"README\.md is a folder"):
        save_model(folder, small_trained_model(seed=2), card="other")
    assert (folder / "config.json").read_bytes() == before


def test_a_diverged_model_is_not_written(tmp_path: Path) -> None:
    trained = small_trained_model()
    trained.model.get_parameter("head.weight").data[0, 0] = torch.nan
    with pytest.raises(GlassformerError, match=r"head\.weight holds NaN"):
        save_model(tmp_path / "model", trained, card="")


def test_figures_that_are_no_numbers_are_null(tmp_path: Path) -> None:
    trained = dataclasses.replace(small_trained_model(), metrics={"best": {"loss": math.nan, "rows": [math.inf, 1.5]}})
    save_model(tmp_path, trained, card="")
    assert load_model(tmp_path, CLASSIFIER).metrics == {"best": {"loss": None, "rows": [None, 1.5]}}


def killed_after(moves: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin to replace the model of a folder, and end after so many moves of files."""
    replace, left = Path.replace, [moves]

    def killed(path: Path, target: Path) -> None:
        left[0] -= 1
        if left[0] < 0:  # nothing can be put back either
            raise KeyboardInterrupt
        replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            save_model(folder, small_trained_model(seed=2), card="other")


@pytest.mark.parametrize("opens", [partial(load_model, kind=CLASSIFIER), is_model_folder, verify])
def test_after_a_kill_the_next_command_finds_the_old_model_or_the_new_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, opens: Callable[[Path], Any]
) -> None:
    files = len(list(folder.iterdir()))
    evaluated(folder)
    before = {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
    for moves in range(2 * files + 3):
        killed_after(moves, folder, monkeypatch)
        opens(folder)
        assert {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")} == before, moves
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)  # killed when all files have their names
        save_model(folder, small_trained_model(seed=2), card="other")
    opens(folder)
    assert not {"audit.json", "snapshots", "evaluation"} & {path.name for path in folder.rglob("*")}
    assert (folder / "README.md").read_text() == "other"


def test_a_folder_that_was_being_replaced_whole_is_found_again(folder: Path) -> None:
    before = contents_below(folder)
    folder.replace(aside_of(folder, ".replaced-"))
    load_model(folder, CLASSIFIER)
    assert contents_below(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_after_a_kill_a_run_that_holds_the_lock_replaces_the_model_and_what_is_about_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated(folder)
    killed_after(6, folder, monkeypatch)
    with only_writer(folder):
        save_model(folder, small_trained_model(seed=3), card="third")
    assert not {"audit.json", "snapshots", "evaluation"} & {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(("is_new", "moves"), [(True, 1), (True, 5), (False, 2), (False, 6), (False, 7), (False, 11)])
def test_a_later_model_of_another_machine_stays(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool, moves: int
) -> None:
    folder = tmp_path / "fresh" if is_new else folder
    killed_after(moves, folder, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(platform, "node", lambda: "another")
        save_model(folder, small_trained_model(seed=3), card="later")
    written = contents_below(folder)
    load_model(folder, CLASSIFIER)
    assert contents_below(folder) == {name: held for name, held in written.items() if not name.startswith(".")}


def test_what_cannot_be_put_back_keeps_no_new_model_from_being_written(folder: Path) -> None:
    aside = folder / f".model.writing-{platform.node()}-{2**30}"  # no process has this number
    (aside / "before").mkdir(parents=True)
    (aside / "new.json").write_text(json.dumps(["x" * 300]))  # as where it may not be read
    save_model(folder, small_trained_model(seed=2), card="other")
    assert (folder / "README.md").read_text() == "other"


def test_a_folder_from_a_stranger_moves_nothing_outside(folder: Path) -> None:
    aside, outside = aside_of(folder / "model"), folder.with_name("outside")
    aside.mkdir()
    outside.mkdir()
    (outside / "mine.txt").touch()
    (aside / "before").symlink_to(outside)
    (aside / "new.json").write_text('["../outside/mine.txt", "..", 3, "config.json"]')
    load_model(folder, CLASSIFIER)
    assert [path.name for path in outside.iterdir()] == ["mine.txt"]


def test_every_file_is_as_readable_as_the_others(tmp_path: Path) -> None:
    save_model(tmp_path / "model", small_trained_model(), card="")
    assert len({path.stat().st_mode for path in (tmp_path / "model").iterdir()}) == 1


@pytest.mark.parametrize(
    ("model_type", "exported", "readable"),
    [("bert", True, True), ("bert", False, True), ("t5", False, False), (["bert"], False, False)],
)
def test_a_folder_of_transformers_is_called_what_it_is(
    model_type: object, exported: bool, readable: bool, tmp_path: Path
) -> None:
    for name in ("tokenizer.json", "model.safetensors", *([RECORD_FILE] if exported else [])):
        (tmp_path / name).touch()
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    with pytest.raises(UsageError) as refused:
        load_model(tmp_path, CLASSIFIER)
    said = refused.value.message
    assert ("name the model folder that it was exported from" in said) is exported
    assert ("is a model of the library transformers, not of glassformer" in said) is not exported
    assert (f"`init='hf:{tmp_path}'`" in said) is readable
