"""Settings too large for any machine, and invalid values."""

from pathlib import Path

import pytest

from glassformer.training.recipe import Recipe, load_recipe
from tests.attacks.answer import answered, nothing_lost
from tests.cli.terminal import glassformer
from tests.trained import Trained

FAR_TOO_LARGE = (
    "model.d_model=1_000_000_000_000",
    "model.max_seq_len=1_000_000_000_000",
    "model.n_layers=1_000_000_000",
    "model.n_heads=1_000_000_000",
    f"model.d_ff={10**30}",
    f"tokenizer.vocab_size={10**30}",
    "tokenizer.vocab_size=100_000_000",
    f"tokenizer.min_frequency={10**30}",
    f"tokenizer.max_tokens={10**30}",
    f"training.seed={2**70}",
    f"training.seed={2**32}",
    "training.batch_size=1_000_000_000_000",
    f"training.batch_tokens={10**30}",
    f"training.accumulation={10**30}",
    f"training.epochs={10**30}",
    f"training.max_steps={10**30}",
    f"training.min_steps_per_epoch={10**30}",
    f"training.patience={10**30}",
    f"training.cosine_epochs={10**30}",
    "training.learning_rate=inf",
    "training.learning_rate=1e308",
    f"training.learning_rate={10**400}",
    "training.weight_decay=inf",
    f"validation.min_rows={10**30}",
)
NO_SETTINGS = {
    "training.no_such_thing=1": "training.no_such_thing",
    "model.d_model=wide": "model.d_model = 'wide'",
    "training.learning_rate=nan": "training.learning_rate = nan",
    "training.clip=nan": "training.clip = nan",
    "training.max_seconds=inf": "training.max_seconds = inf",
    "training.epochs=9999999999": "training.epochs = 9999999999",
    "training.epochs=-1": "training.epochs = -1",
    "training.epochs=1.5": "training.epochs = 1.5",
    "training.epochs=[1]": "training.epochs = [1]",
    "training.epochs={a=1}": "training.epochs",
    "training.epochs=2024-01-01": "training.epochs",
    "training.epochs=": "training.epochs = ''",
    f"training.epochs={'9' * 5_000}": "training.epochs",
    f"training.epochs={'[' * 5_000}": "training.epochs",
    f"training.epochs={'x' * 5_000}": "training.epochs",
    f"training.{'x' * 5_000}=1": "unknown key training.xxx",
    f"{'x' * 5_000}.epochs=1": "unknown section [xxx",
    f"{'x' * 5_000}=1": "name the section too",
    "x" * 5_000: "write it as key=value",
    "training.a\nb=1": r"unknown key training.a\nb",
    "=1": "write it as key=value",
    ".=1": "unknown section []",
    "model.design=[[[]]]": "no design",
    f"model.design={'x' * 5_000}": "no design",
    f"model.preset={'x' * 5_000}": "no preset",
    "model.dropout=1": "model.dropout = 1",
    "training.class_weights={yes=inf}": "training.class_weights.yes = inf",
    "training.class_weights={yes=1e38}": "training.class_weights.yes = 1e+38: it must be at most",
    "training.class_weights={yes=-1,no=0,a=-1,b=-1,c=-1,d=-1,e=-1}": "and 4 more",
}


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        *(pytest.param(setting, setting.partition("=")[0], id=setting[:40]) for setting in FAR_TOO_LARGE),
        *(pytest.param(setting, words, id=ascii(setting[:40])) for setting, words in NO_SETTINGS.items()),
    ],
)
def test_a_setting_that_cannot_be_is_refused(setting: str, words: str, reviews: Trained, tmp_path: Path) -> None:
    out = tmp_path / "model"
    answered(glassformer("train", reviews.table, "--out", out, "--set", setting), words)
    assert not out.exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("model.d_model=65_536", "model.n_layers=50"), "this model needs"),
        (("model.max_seq_len=1_048_576", "model.positions=learned", "model.d_model=65_536"), "lower model."),
        (("model.n_layers=100", "model.d_model=16_384"), "lower model."),
    ],
)
def test_a_model_beyond_this_machine_names_the_setting(
    settings: tuple[str, ...], words: str, reviews: Trained, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    flags = [flag for setting in settings for flag in ("--set", setting)]
    answered(glassformer("train", reviews.table, "--out", out, "--device", "cpu", *flags), words, "GB")
    assert not out.exists(), "nothing was learned, so nothing is left that could be resumed"


@pytest.mark.parametrize("seed", [2**70, -1])
def test_a_seed_that_cannot_be(seed: int, reviews: Trained, tmp_path: Path) -> None:
    answered(glassformer("train", reviews.table, "--out", tmp_path / "m", "--seed", seed), f"training.seed = {seed}")
    assert not (tmp_path / "m").exists()


FILES = {
    "not-toml": (b"epochs: 3\n", "not readable as TOML"),
    "binary": (bytes(range(256)), "not readable as TOML"),
    "utf-16": ("[training]\nepochs = 3\n".encode("utf-16"), "not readable as TOML"),
    "nested": (b"a = " + b"[" * 20_000, "nested too deep"),
    "nested-tables": (b"[training" + b".a" * 20_000 + b"]\n", "unknown key training.a"),
    "nested-description": (b"[description" + b".a" * 20_000 + b"]\n", "description"),
    "twice": (b"[training]\nepochs = 3\nepochs = 4\n", "not readable as TOML"),
    "section-twice": (b"[training]\nepochs = 3\n[training]\nclip = 4\n", "not readable as TOML"),
    "long-integer": (b"[training]\nepochs = " + b"9" * 5_000, "not readable as TOML"),
    "long-line": (b"[training]\nepochs = " + b"x" * 900_000, "not readable as TOML"),
    "unknown-section": (b"[speed]\nfast = true\n", "unknown section [speed]"),
    "unknown-key": (b"[training]\nspeed = 3\n", "unknown key training.speed"),
    "odd-key": (b'[training]\n"a\\u001b[2J\\nb" = 3\n', "unknown key training.a"),
    "no-section": (b"epochs = 3\n", "unknown section [epochs]"),
    "section-is-a-value": (b"training = 3\n", "training must be a section"),
    "section-is-a-list": (b"[[training]]\nepochs = 3\n", "training must be a section"),
    "description-is-a-number": (b"description = 3\n", "description = 3"),
    "text-for-a-number": (b'[training]\nepochs = "many"\n', "training.epochs = 'many'"),
    "list-for-a-number": (b"[training]\nepochs = [1, 2]\n", "training.epochs"),
    "date-for-a-number": (b"[training]\nepochs = 1979-05-27\n", "training.epochs"),
    "table-for-a-number": (b"[training.epochs]\na = 1\n", "training.epochs"),
    "number-for-a-name": (b"[model]\ndesign = 3\n", "no design 3"),
    "many-mistakes": (
        b"[training.class_weights]\n" + b"".join(b"c%d = -1\n" % n for n in range(5_000)),
        "and 4,997 more",
    ),
    "long-text": (b'[validation]\nfile = 3\ngroup = "' + b"x" * 500_000 + b'"\n', "validation.file = 3"),
    "large": (b"# " + b"x" * 100_000_000, "larger than 1,000,000 bytes"),
}


@pytest.mark.parametrize(("content", "words"), [pytest.param(*case, id=name) for name, case in FILES.items()])
def test_a_file_that_is_no_recipe(content: bytes, words: str, reviews: Trained, tmp_path: Path) -> None:
    file, out = tmp_path / "mine.toml", tmp_path / "model"
    file.write_bytes(content)
    with nothing_lost(reviews.folder, file):
        answered(glassformer("train", reviews.table, "--out", out, "--recipe", file), str(file), words)
    assert not out.exists()


def test_a_folder_or_nothing_for_a_recipe(reviews: Trained, tmp_path: Path) -> None:
    for name in (tmp_path, tmp_path / "none.toml", "", "/dev/zero"):
        outcome = glassformer("train", reviews.table, "--out", tmp_path / "m", "--recipe", name)
        answered(outcome, "neither a file nor a recipe by that name")


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"")
    assert load_recipe(str(tmp_path / "mine.toml")) == Recipe()


@pytest.mark.parametrize(
    "setting",
    [f"training.seed={2**70}", "training.learning_rate=inf", f"training.updates={10**30}", "training.beta=inf",
     f"training.batch_size={10**400}", f"training.max_tokens={'9' * 5_000}", f"training.{'x' * 5_000}=1"],
    ids=lambda setting: setting[:30],
)  # fmt: skip
def test_settings_of_steering(setting: str, tmp_path: Path) -> None:
    for name in ("lm", "r"):
        (tmp_path / name).mkdir()
    outcome = glassformer(
        "align", "rl", tmp_path / "lm", "--reward", tmp_path / "r", "--out", tmp_path / "m", "--set", setting
    )
    answered(outcome, setting.partition("=")[0][:24])
    assert not (tmp_path / "m").exists()
