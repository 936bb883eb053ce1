import pytest

from glassformer.cli.flags import FLAGS, as_flags
from tests.cli.terminal import commands, glassformer


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("`init='my model'`: no such folder", "--init 'my model': no such folder"),
        ("several: `multilabel='|'`, `text=`", "several: --multilabel '|', --text"),
        ("name the file with `from_file='train.csv'`", "name the file with --from train.csv"),
        ("`overwrite=True` replaces it; choose another `out=`", "--overwrite replaces it; choose another --out"),
        ("try `training.learning_rate=1e-05`", "try --set training.learning_rate=1e-05"),
        ("`tokenizer.kind='bpe'`", "--set tokenizer.kind=bpe"),
        ("`training.freeze=`", "--set training.freeze=…"),
        ("`colour='red'`, `init`, a = b", "`colour='red'`, `init`, a = b"),
        ("`init='half", "`init='half"),
    ],
)
def test_settings_become_flags(said: str, shown: str) -> None:
    assert as_flags(said) == shown
    assert as_flags(shown) == shown


def test_a_setting_with_a_flag_of_its_own_is_named_as_it_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "`training.epochs=0` trains none"
    monkeypatch.setattr("sys.argv", ["glassformer", "train", "--set", "training.epochs=0"])
    assert as_flags(said) == "--set training.epochs=0 trains none"
    for typed in (["--epochs", "0"], ["--epochs=0"]):
        monkeypatch.setattr("sys.argv", ["glassformer", "train", *typed])
        assert as_flags(said) == "--epochs 0 trains none"


def test_the_label_column_is_named_by_the_flag_that_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "no column 'stars' (`label=`)"
    for typed in (["--target", "stars"], ["--target=stars"]):
        monkeypatch.setattr("sys.argv", ["glassformer", "train", *typed])
        assert as_flags(said) == "no column 'stars' (--target)"
    monkeypatch.setattr("sys.argv", ["glassformer", "train", "--label", "stars"])
    assert as_flags(said) == "no column 'stars' (--label)"


def test_every_flag_is_one_of_a_command() -> None:
    known = {flag for _, command in commands() for parameter in command.params for flag in parameter.opts}
    assert set(FLAGS.values()) <= known


def test_the_command_line_speaks_of_flags() -> None:
    assert (
        "error: --init nosuch: no such model folder"
        in glassformer("train", __file__, "--out", "m", "--init", "nosuch").err
    )
