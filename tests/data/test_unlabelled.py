from pathlib import Path

import polars as pl
import pytest

from glassformer.data.documents import Documents, admitted, read_unlabelled
from glassformer.data.inputs import BEGIN, END
from glassformer.data.model_marks import RECORD_FILE
from glassformer.errors import UsageError
from glassformer.prediction.model_folder import save_model
from tests.prediction.samples import small_trained_model


def documents(*texts: str, source: str = "more.txt") -> Documents:
    return Documents(texts=pl.Series(texts), source=source)


def test_texts_that_are_held_out_read_already_or_repeated_are_left_out_and_counted() -> None:
    kept = admitted(
        [documents("new", "tested", " tested ", "held out", "learned"), documents("new", "newer", "newer")],
        training=pl.Series(["learned", "other"]),
        validation=pl.Series(["held out"]),
        test=pl.Series(["tested"]),
    )
    assert kept.texts.to_list() == ["new", "newer"]
    assert kept.left_out == {"test": 2, "validation": 1, "training": 1, "repeated": 2}
    assert kept.notes == (
        "2 unlabelled texts are also test texts and were left out",
        "1 unlabelled text is also a validation text and was left out",
        "1 unlabelled text is also a training text and was left out",
        "2 unlabelled texts repeat others and were left out",
    )


def test_texts_are_equal_as_in_a_split() -> None:
    """A letter and its accent in one character or two, and white space around a text, make no difference."""
    kept = admitted(
        [documents("cafe\u0301 \n", "tea")], training=pl.Series(["x"]), validation=None, test=pl.Series(["café"])
    )
    assert kept.texts.to_list() == ["tea"]
    assert kept.left_out == {"test": 1}


def test_rows_that_differ_in_a_column_do_not_repeat_each_other() -> None:
    cheap, dear = (f"{BEGIN}price={price}{END}a film" for price in ("below 5", "5 or more"))
    kept = admitted([documents(cheap, dear, f"{cheap} ")])
    assert (kept.texts.to_list(), kept.left_out) == ([cheap, dear], {"repeated": 1})
    assert admitted([documents(cheap, dear, "tea")], test=pl.Series([dear])).texts.to_list() == ["tea"]


def test_without_a_source_there_is_no_text() -> None:
    kept = admitted([], training=pl.Series(["a"]), validation=None, test=None)
    assert kept.texts.equals(pl.Series([], dtype=pl.String))
    assert kept.left_out == {}
    assert kept.notes == ()


def test_rows_of_the_training_table_may_all_be_left_out() -> None:
    own = Documents(texts=pl.Series(["tested", "learned"]), source="train.csv", own=True)
    kept = admitted([own, documents("new")], training=pl.Series(["learned"]), test=pl.Series(["tested"]))
    assert (kept.texts.to_list(), kept.sources) == (["new"], ("more.txt",))
    assert kept.left_out == {"test": 1, "training": 1}


def test_a_source_that_adds_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=r"b\.csv: .*Of 3 texts, 2 are also test texts, 1 repeats another") as found:
        admitted(
            [documents("new"), documents("tested", "tested", "new", source="b.csv")],
            training=pl.Series(["a"]),
            validation=None,
            test=pl.Series(["tested"]),
        )
    assert "name other texts" in found.value.message


def test_a_folder_gives_one_text_per_file(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "below").mkdir(parents=True)
    (folder / "b.txt").write_text("first paragraph\n\nsecond paragraph\n")
    (folder / "below" / "a.MD").write_text("deeper")
    (folder / "empty.txt").write_text(" \n")
    (folder / "table.csv").write_text("text\nnot read\n")
    (folder / ".hidden.txt").write_text("not read")
    read = read_unlabelled(str(folder))
    assert read.texts.to_list() == ["first paragraph\n\nsecond paragraph\n", "deeper"]
    assert read.source == str(folder)


def test_models_among_the_texts_are_left_out(tmp_path: Path) -> None:
    folder, trained = tmp_path / "texts", small_trained_model()
    folder.mkdir()
    (folder / "a.txt").write_text("a text")
    save_model(folder / "model", trained, card="the card")
    for name in (RECORD_FILE, "README.md"):
        (folder / "below" / "web").mkdir(parents=True, exist_ok=True)
        (folder / "below" / "web" / name).write_text("{}")
    read = read_unlabelled(str(folder))
    assert read.texts.to_list() == ["a text"]
    assert read.notes == ("1 text file", "left out: 'below/web', 'model', which are models")
    with pytest.raises(UsageError, match=r"model holds a model; name a folder of text files"):
        read_unlabelled(str(folder / "model"))
    (folder / "a.txt").unlink()
    with pytest.raises(UsageError, match=r"texts holds only models \('below/web', 'model'\); name a folder of text"):
        read_unlabelled(str(folder))


def test_weights_alone_are_no_model(tmp_path: Path) -> None:
    (tmp_path / "v.safetensors").mkdir()
    (tmp_path / "v.safetensors" / "a.txt").write_text("a text")
    assert read_unlabelled(str(tmp_path)).notes == ("1 text file",)
    (tmp_path / "b.safetensors").touch()
    assert read_unlabelled(str(tmp_path)).texts.to_list() == ["a text"]
    (tmp_path / "body.json").touch()
    with pytest.raises(UsageError, match=r" holds a model; name a folder of text files"):
        read_unlabelled(str(tmp_path))


def test_a_table_with_the_column_of_the_training_table(tmp_path: Path) -> None:
    path = tmp_path / "more.csv"
    path.write_text("Comment,text\na remark of some length,some other text of length\n" * 1)
    assert read_unlabelled(str(path), like="comment").texts.to_list() == ["a remark of some length"]
    assert read_unlabelled(str(path), like="review").texts.to_list() == ["some other text of length"]


def test_the_texts_of_a_known_data_set(tmp_path: Path) -> None:
    (tmp_path / "imdb").mkdir()
    with pytest.raises(UsageError, match=r"are not in .*glassformer data get imdb.*imdb/unsup\.parquet"):
        read_unlabelled("imdb", tmp_path)
    pl.DataFrame({"text": ["a film", "another"], "label": [-1, -1]}).write_parquet(tmp_path / "imdb" / "unsup.parquet")
    read = read_unlabelled("imdb", tmp_path)
    assert (read.texts.to_list(), read.source) == (["a film", "another"], "imdb")
    with pytest.raises(UsageError, match=r"zhou has no unlabelled texts.*: imdb"):
        read_unlabelled("zhou", tmp_path)
