"""Readers, modules, recipes and builds of strangers."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from glassformer.readers.reader import GROUP
from tests.attacks.answer import answered, nothing_lost
from tests.cli.conftest import quick as quick
from tests.cli.terminal import Outcome, glassformer
from tests.test_house import ROOT
from tests.trained import Trained

mended = pytest.mark.mended

# Readers of other packages

SOURCES: dict[str, tuple[str, str]] = {
    "no-such-module": ("", "No module named 'nowhere'"),
    "another-import-fails": ("import nowhere_at_all", "No module named 'nowhere_at_all'"),
    "a-syntax-error": ("def", "SyntaxError"),
    "a-nul": ("a = 1\0", "null bytes"),
    "divides-by-zero": ("1 / 0", "ZeroDivisionError: division by zero"),
    "raises-what-clears-the-screen": ("raise ValueError('\\x1b[2J\\u202e')", "ValueError: \\x1b[2J\\u202e"),
    "raises-much": ("raise ValueError('x' * 100_000)", "ValueError: xxx"),
    "exits-well": ("raise SystemExit(0)", "SystemExit: 0"),
    "exits": ("raise SystemExit('bye')", "SystemExit: bye"),
    "without-end": ("def f(): f()\nf()", "RecursionError"),
    "no-reader": ("Reader = 3", "is no subclass of `InstalledReader`"),
    "a-function": ("def Reader(): pass", "is no subclass of `InstalledReader`"),
    "another-class": ("class Reader: fit = scores = None", "is no subclass of `InstalledReader`"),
    "no-such-name": ("other = 3", "has no attribute 'Reader'"),
    "lies-about-its-class": (
        "class Reader(int):\n    __class__ = type", "is no subclass of `InstalledReader`"
    ),
}  # fmt: skip
BROKE = {
    "a-syntax-error", "a-nul", "divides-by-zero", "raises-what-clears-the-screen", "raises-much", "exits-well",
    "exits", "without-end",
}  # fmt: skip
ENTRIES: dict[str, tuple[str, str]] = {
    "no-group": ("", "none is installed"),
    "another-group": ("[console_scripts]\nodd = odd_reader:Reader\n", "none is installed"),
    "of-a-built-in-name": (f"[{GROUP}]\ncounting = odd_reader:Reader\n", "none is installed"),
    "of-a-path": (f"[{GROUP}]\n../odd = odd_reader:Reader\n", "no installed package has a reader 'odd'"),
    "no-value": (f"[{GROUP}]\nodd =\n", "cannot be imported"),
    "a-sentence": (f"[{GROUP}]\nodd = what is this?\n", "cannot be imported"),
    "no-attribute": (f"[{GROUP}]\nodd = json\n", "is no subclass"),
    "of-the-standard-library": (f"[{GROUP}]\nodd = os:system\n", "is no subclass"),
    "a-long-value": (f"[{GROUP}]\nodd = {'x' * 9_000}:Reader\n", "cannot be imported"),
}  # fmt: skip


def installed(place: Path, entries: str, source: str = "") -> None:
    """Lay a package with a reader there, as pip does."""
    about = place / "odd_reader-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-reader\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(entries, encoding="utf-8")
    if source:
        (place / "odd_reader.py").write_text(source, encoding="utf-8")


def train_with(reader: str, table: Path, out: Path) -> Outcome:
    return glassformer(
        "train", table, "--out", out, "--epochs", 0, "--device", "cpu", "--set", f'model.readers=["{reader}"]'
    )


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "packages"
    place.mkdir()
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.delitem(sys.modules, "odd_reader", raising=False)
    return place


@pytest.mark.parametrize("name", [pytest.param(name, marks=[mended] if name in BROKE else []) for name in SOURCES])
def test_a_reader_that_fails_as_it_is_imported(name: str, packages: Path, reviews: Trained, tmp_path: Path) -> None:
    source, words = SOURCES[name]
    installed(packages, f"[{GROUP}]\nodd = {'odd_reader' if source else 'nowhere'}:Reader\n", source)
    answered(train_with("odd", reviews.table, tmp_path / "m"), "the reader 'odd' of ", words)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("name", ENTRIES)
def test_a_package_whose_entry_points_are_odd(name: str, packages: Path, reviews: Trained, tmp_path: Path) -> None:
    entries, words = ENTRIES[name]
    installed(packages, entries, "class Reader: pass")
    answered(train_with("odd", reviews.table, tmp_path / "m"), words)
    assert not (tmp_path / "m").exists()


def test_what_no_model_names_is_not_imported(packages: Path, reviews: Trained) -> None:
    installed(packages, f"[{GROUP}]\nodd = odd_reader:Reader\n", "raise SystemExit('ran')")
    outcome = glassformer("predict", reviews.folder, "a good film")
    assert outcome.code == 0, outcome.err
    assert "odd_reader" not in sys.modules


# Modules beside a table

BESIDE = (
    "torch", "polars", "numpy", "json", "random", "typing", "csv", "email", "typer", "tomllib", "pathlib", "atexit",
)  # fmt: skip
_RAN = "from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\nraise SystemExit('ran')\n"


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """A folder with all of these modules, and what a command said that was run there."""
    folder = tmp_path_factory.mktemp("beside")
    for module in BESIDE:
        (folder / f"{module}.py").write_text(_RAN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "glassformer", "train", "none.csv", "--out", "m"],
        cwd=folder, env=environment | {"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return folder, Outcome(code=done.returncode, out=done.stdout, err=done.stderr)


@pytest.mark.parametrize(
    "module", [pytest.param(name, marks=[mended] if name in ("json", "typing") else []) for name in BESIDE]
)
def test_a_module_beside_a_table_is_not_run(module: str, beside: tuple[Path, Outcome]) -> None:
    folder, outcome = beside
    answered(outcome, "No such file: none.csv")
    assert not (folder / f"{module}.ran").exists()


# Recipes and settings from elsewhere

RECIPES: dict[str, tuple[str, str]] = {
    "a-reader-that-is-not-installed": ('[model]\nreaders=["nosuch"]\n', "no installed package has a reader 'nosuch'"),
    "a-reader-by-its-path": ('[model]\nreaders=["/tmp/x.py"]\n', "no installed package has a reader"),
    "a-body-that-is-a-device": ('[model]\nbody="/dev/zero"\n', "holds no body"),
    "a-body-of-this-folder": ('[model]\nbody="."\n', "holds no body"),
    "rules-that-are-a-device": ('[model]\nrules="/dev/zero"\n', "larger than 1,000,000 bytes"),
    "rules-that-are-a-secret": ('[model]\nrules="/etc/passwd"\n', "is not a rule"),
    "an-unknown-section": ("[execute]\ncommand='x'\n", "unknown section [execute]"),
    "an-unknown-key": ("[model]\n__class__='x'\n", "unknown key model.__class__"),
    "python": ("import os\nos.system('x')\n", "not readable as TOML"),
    "a-pickle": ("cos\nsystem\n(S'x'\ntR.", "not readable as TOML"),
    "yaml": ("!!python/object/apply:os.system ['x']\n", "not readable as TOML"),
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_of_a_stranger(name: str, reviews: Trained, tmp_path: Path) -> None:
    content, words = RECIPES[name]
    (tmp_path / "theirs.toml").write_text(content)
    with nothing_lost(tmp_path):
        answered(
            glassformer("train", reviews.table, "--out", tmp_path / "m", "--recipe", tmp_path / "theirs.toml",
                        "--epochs", 0, "--device", "cpu"),
            words,
        )  # fmt: skip


# What a release is made of


def script(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def two_wheels(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "one.whl", tmp_path / "other.whl"
    one.write_bytes(b"PK" + bytes(1_000))
    shutil.copy(one, other)
    return one, other


def test_two_builds_that_differ_by_a_byte_end_the_release(two_wheels: tuple[Path, Path]) -> None:
    compare = script("release/build.py").compare
    compare(*two_wheels)
    with two_wheels[1].open("rb+") as file:
        file.seek(500)
        file.write(b"\1")
    with pytest.raises(SystemExit, match=r"one\.whl: two builds of the same commit differ"):
        compare(*two_wheels)


def test_the_checksums_of_a_release_name_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = script("release/check.py")
    monkeypatch.setattr(check, "DIST", tmp_path)
    (tmp_path / "a.whl").write_bytes(b"a")
    (tmp_path / "LICENCES.md").write_text("MIT")
    check.write_sums()
    sums = dict(line.split("  ")[::-1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("a.whl", "LICENCES.md")
    }
