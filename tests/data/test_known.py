from pathlib import Path

import polars as pl
import pytest

from glassformer.data import known
from glassformer.data.known import KNOWN, data_folders, find, group_column, resolve
from glassformer.data.labels import LabelSet
from glassformer.errors import UsageError


def lay_out(folder: Path, name: str, **files: pl.DataFrame) -> None:
    (folder / name).mkdir(parents=True)
    for file, frame in files.items():
        frame.write_parquet(folder / name / f"{file}.parquet")


def frame_of(n_rows: int) -> pl.DataFrame:
    return pl.DataFrame({"text": [f"text {n}" for n in range(n_rows)], "label": [n % 2 for n in range(n_rows)]})


def test_the_disaster_tweets_are_split_as_pandas_does(tmp_path: Path) -> None:
    """The row numbers were computed by pandas 3.1.1 itself, on an index of 7,613 rows."""
    lay_out(tmp_path, "disaster-tweets", train=frame_of(7613))
    train, test = (resolve("disaster-tweets", split, tmp_path).frame["row"].to_list() for split in ("train", "test"))
    assert (len(train), len(test)) == (6852, 761)
    assert (train[:5], train[-5:]) == ([2645, 2228, 5449, 133, 6846], [3773, 5192, 5391, 861, 7604])
    assert (test[:5], test[-5:]) == ([4956, 585, 7412, 5951, 5542], [7594, 2639, 860, 579, 7446])
    assert sorted(train + test) == list(range(1, 7614))


def test_labels_get_their_meaning(tmp_path: Path) -> None:
    lay_out(tmp_path, "zhou", train=frame_of(6), test=frame_of(4))
    table = resolve("zhou", "test", tmp_path)
    assert table.source == "zhou"
    assert table.frame["label"].to_list() == ["negative", "positive"] * 2
    assert table.notes == ("zhou: 58 training and 20 test rows, by the author",)
    assert resolve("zhou", "train", tmp_path, label="label").frame["label"].to_list() == ["0", "1"] * 3


def test_the_film_is_a_group(tmp_path: Path) -> None:
    lay_out(tmp_path, "imdb", train=frame_of(3).with_columns(movie=pl.Series(["t1", "t1", "t2"])))
    assert resolve("imdb", "train", tmp_path, group="movie").frame["group"].to_list() == ["t1", "t1", "t2"]


def test_only_imdb_with_its_films_has_groups(tmp_path: Path) -> None:
    assert group_column("imdb", tmp_path) is None
    lay_out(tmp_path / "without", "imdb", train=frame_of(3))
    assert group_column("imdb", tmp_path / "without") is None
    lay_out(tmp_path / "with", "imdb", train=frame_of(3).with_columns(movie=pl.Series(["t1", "t1", "t2"])))
    assert group_column("imdb", tmp_path / "with") == "movie"
    assert group_column("polarity", tmp_path) is None
    assert group_column("imdb.csv", tmp_path) is None


def test_a_smaller_file_stands_in_and_says_so(tmp_path: Path) -> None:
    lay_out(tmp_path, "sentiment140", random=frame_of(8), manual359=frame_of(9)[8:])
    assert (
        resolve("sentiment140", "train", tmp_path).notes[1]
        == "read from random.parquet, 8 rows, as train.parquet is not there"
    )
    frame_of(11).write_parquet(tmp_path / "sentiment140" / "train.parquet")
    assert resolve("sentiment140", "train", tmp_path).frame.height == 10  # without the text that is tested on
    assert len(resolve("sentiment140", "test", tmp_path).notes) == 1


def test_polarity_needs_no_file() -> None:
    assert LabelSet.from_table(resolve("polarity", "test")).names == ("negative", "positive")
    with pytest.raises(UsageError, match="'film' does not apply"):
        resolve("polarity", "train", group="film")


def test_where_the_data_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSFORMER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache = tmp_path / "cache" / "glassformer" / "data"
    assert data_folders() == (cache,)
    monkeypatch.setenv("GLASSFORMER_DATA", str(tmp_path / "own"))
    assert data_folders() == (tmp_path / "own", cache)
    assert data_folders(tmp_path) == (tmp_path,)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert data_folders()[1] == tmp_path / "home" / ".cache" / "glassformer" / "data"


def test_data_that_are_not_there_say_how_to_get_them(tmp_path: Path) -> None:
    assert find("imdb", "train", tmp_path) is None
    with pytest.raises(UsageError, match=r"glassformer data get imdb.*imdb/train\.parquet.*GLASSFORMER_DATA"):
        resolve("imdb", "train", tmp_path)


def test_neither_a_name_nor_a_file() -> None:
    with pytest.raises(UsageError, match=r"neither a file nor a known data set.*polarity, zhou.*Did you mean 'imdb'\?"):
        resolve("imbd", "train")
    with pytest.raises(UsageError, match=r"No such file: imbd\.csv"):
        resolve("imbd.csv", "train")


def test_a_path_is_read_with_the_columns_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label,other\nx,1,p|q\ny,2,\n")
    table = resolve(str(tmp_path / "a.csv"), "test", label="other", multilabel="|")
    assert table.frame["label"].to_list() == [["p", "q"], []]


@pytest.mark.parametrize("dataset", KNOWN.values(), ids=KNOWN)
def test_each_data_set_states_source_terms_and_split(dataset: known.KnownDataset) -> None:
    assert KNOWN[dataset.name] is dataset
    assert dataset.title
    assert dataset.description
    assert dataset.licence
    assert dataset.citation
    assert dataset.splits
    fetched = dataset.source_url is not None or dataset.by_hand is not None
    assert fetched == (dataset.unpack is not None) == bool(dataset.files)
