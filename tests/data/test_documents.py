import gzip
import hashlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.documents import Documents, read_documents, read_unlabelled, split_documents
from glassformer.data.splits import ValidationConfig
from glassformer.errors import UsageError


def read(path: Path, content: str | bytes, **values: Any) -> Documents:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_documents(str(path), **values)


def documents(*texts: str) -> Documents:
    return Documents(texts=pl.Series(texts), source="notes.txt", notes=("so many paragraphs",))


# Plain text


def test_paragraphs_stand_between_blank_lines(tmp_path: Path) -> None:
    found = read(tmp_path / "book.txt", "\n\n  One line\nand another. \n \t \n\n\nNext\n\nLast one\n")
    assert found.texts.to_list() == ["  One line\nand another. ", "Next", "Last one"]
    assert found.notes == ("3 paragraphs (blank lines stand between them)",)
    assert found.source == str(tmp_path / "book.txt")


@pytest.mark.parametrize("blank", [0, 3, 40])
def test_few_blank_lines_between_texts_for_a_model_part_no_paragraphs(blank: int, tmp_path: Path) -> None:
    lines = [f"text {number}" for number in range(400)]
    for place in range(blank):
        lines.insert(10 * place + 5, "")
    (tmp_path / "more.txt").write_text("\n".join(lines))
    of_rows, of_prose = read_unlabelled(str(tmp_path / "more.txt")), read_documents(str(tmp_path / "more.txt"))
    assert len(of_rows.texts) == (41 if blank == 40 else 400)
    assert len(of_prose.texts) == (blank + 1 if blank else 400)


@pytest.mark.parametrize("suffix", ["txt", "TXT", "text", "md"])
def test_a_file_without_blank_lines_is_read_by_lines(suffix: str, tmp_path: Path) -> None:
    found = read(tmp_path / f"lines.{suffix}", "first\nsecond \n  third")
    assert found.texts.to_list() == ["first", "second ", "  third"]
    assert found.notes == ("3 lines",)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("content", ["a\nb\n\nc\n \nd\n", "a\n\nb\n\n", "a\nb\n", "\na"])
def test_the_ends_of_lines_are_one_wherever_a_file_comes_from(content: str, line_end: str, tmp_path: Path) -> None:
    expected = read(tmp_path / "here.txt", content)
    assert read(tmp_path / "there.txt", content.replace("\n", line_end)).texts.equals(expected.texts)


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_only_a_line_end_ends_a_line(separator: str, tmp_path: Path) -> None:
    assert read(tmp_path / "a.txt", f"one{separator}still one\ntwo").texts.len() == 2


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert read(tmp_path / "a.txt", b"\xef\xbb\xbfone\ntwo").texts.to_list() == ["one", "two"]


@given(content=st.text("ab \t\r\n", max_size=40))
def test_nothing_but_white_space_is_lost(content: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    if not content.strip():
        with pytest.raises(UsageError, match="holds no text"):
            read(path, content)
        return
    texts = read(path, content).texts.to_list()
    assert "".join("".join(texts).split()) == "".join(content.split())
    assert all(text.strip() for text in texts)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", r"holds no text"),
        (b" \n\r\n\t", r"holds no text"),
        (b"\xef\xbb\xbf\n", r"holds no text"),
        (b"one\nol\xc3\xa9\ncaf\xe9 here\n", r"line 3: byte 4 of the line, 0xe9, is not UTF-8, and line 2 is"),
        (b"\xef\xbb\xbf\xe9", r"line 1: byte 4 of the line"),
        ("one\ntwo".encode("utf-16") + b"x", r"byte 17 does not fit UTF-16, as it begins"),
        (b"one\ntwo\0", r"line 2: a NUL byte"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"a\.txt.*{words}"):
        read(tmp_path / "a.txt", content)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-be", "utf-32"])
def test_a_text_in_another_encoding_is_read_and_said(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a b.txt.gz"
    path.write_bytes(gzip.compress("Die Größe passt.\nFür den Käse ist es zu spät.".encode(encoding)))
    documents = read_documents(str(path))
    assert documents.texts.to_list() == ["Die Größe passt.", "Für den Käse ist es zu spät."]
    assert documents.notes[0].startswith("read as ")


def test_a_plain_text_has_no_columns(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`text='review'`: .*a\.txt is plain text and has no columns; leave it out"):
        read(tmp_path / "a.txt", "one", text="review")


def test_what_is_not_there_or_of_no_kind(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("one")
    with pytest.raises(UsageError, match=r"No such file: .*bok\.txt.*book\.txt"):
        read_documents(str(tmp_path / "bok.txt"))
    with pytest.raises(UsageError, match="neither a file nor a known data set"):
        read_documents("bok")
    with pytest.raises(UsageError, match=r"does not say what this is. Plain text: \.txt, .*; tables: \.csv, "):
        read(tmp_path / "book", "one")
    with pytest.raises(UsageError, match="is a folder"):
        read_documents(str(tmp_path))


# Tables and known data sets


def test_a_table_needs_no_labels(tmp_path: Path) -> None:
    found = read(tmp_path / "a.csv", 'text\n"one, two"\nthree\n')
    assert found.texts.to_list() == ["one, two", "three"]


def test_the_texts_of_a_table_with_labels(tmp_path: Path) -> None:
    content = "stars,review,author\n5,very good,ann\n,no label,bob\n1,  ,eve\n2,very bad,\n"
    found = read(tmp_path / "a.csv", content, text="review")
    assert found.texts.to_list() == ["very good", "no label", "very bad"]
    assert "left out: 1 × empty text" in found.notes
    found = read(tmp_path / "a.jsonl", '{"text": "one", "label": 3}\n{"text": "two"}\n')
    assert found.texts.to_list() == ["one", "two"]
    assert any("'text'" in note for note in found.notes), "it says which column it took"


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'reviews'.*review"):
        read(tmp_path / "a.csv", "review,stars\nvery good,5\n", text="reviews")


def test_a_compressed_table(tmp_path: Path) -> None:
    pl.DataFrame({"text": ["one", "two"]}).write_parquet(tmp_path / "a.parquet")
    assert read_documents(str(tmp_path / "a.parquet")).texts.to_list() == ["one", "two"]


def test_a_known_data_set_that_needs_no_files() -> None:
    found = read_documents("polarity")
    assert (found.texts.len(), found.source) == (4000, "polarity")


def test_a_known_data_set_whose_files_are_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="glassformer data get imdb"):
        read_documents("imdb", tmp_path)


# What they are


def test_a_slip_in_a_long_text_is_read_as_a_space(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_bytes(b"one\0two\n" + b"a line of words\n" * 1_000)
    assert read_documents(str(file)).texts[0] == "one two"


def test_bytes_are_counted_in_utf8() -> None:
    assert documents("añ€", "😀", "b").n_bytes == 1 + 2 + 3 + 4 + 1


def test_the_fingerprint_is_of_the_texts_in_their_order() -> None:
    parts = [b"ab", "é".encode()]
    expected = hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()
    assert documents("ab", "é").fingerprint == expected
    others = [documents("é", "ab"), documents("abé"), documents("a", "bé"), documents("ab", "e")]
    assert len({expected, *(other.fingerprint for other in others)}) == 5


# Held out


def held(texts: Documents, *, seed: int = 3, **values: Any) -> tuple[list[str], list[str]]:
    train, validation = split_documents(texts, ValidationConfig.model_validate({"min_rows": 0} | values), seed=seed)
    return train.texts.to_list(), [] if validation is None else validation.texts.to_list()


def test_a_share_of_the_texts_is_held_out() -> None:
    texts = [f"text {number}" for number in range(50)]
    train, validation = held(documents(*texts), fraction=0.2)
    assert len(validation) == 10
    assert sorted(train + validation) == sorted(texts)
    assert train == [text for text in texts if text in train], "in their order"
    assert validation == [text for text in texts if text in validation]
    assert held(documents(*texts), fraction=0.2) == (train, validation)
    assert held(documents(*texts), fraction=0.2, seed=4)[1] != validation


def test_what_equals_a_held_out_text_is_not_trained_on() -> None:
    texts = [f"text {number % 20}" + " " * (number // 20) for number in range(40)]  # each twice, once with a space
    train, validation = split_documents(documents(*texts), ValidationConfig(fraction=0.1, min_rows=0), seed=3)
    assert validation is not None
    kept, out = ({text.strip() for text in documents.texts} for documents in (train, validation))
    assert kept.isdisjoint(out)
    assert len(kept | out) == 20
    repeated = 40 - len(train.texts) - len(validation.texts)
    assert repeated > 0
    assert train.notes == ("so many paragraphs", f"left out: {repeated} × equal to a held-out text")
    assert validation.notes == ()


@pytest.mark.parametrize(
    ("count", "values", "expected"),
    [
        (20, {"fraction": 0.1, "min_rows": 20}, 2),
        (19, {"fraction": 0.1, "min_rows": 20}, 0),
        (40, {"fraction": 0}, 0),
        (40, {"fraction": None}, 0),
        (1, {"fraction": 0.5}, 0),
        (2, {"fraction": 0.5}, 1),
        (5, {"fraction": 0.01}, 1),  # never none where some are asked for
    ],
)
def test_how_many_are_held_out(count: int, values: dict[str, Any], expected: int) -> None:
    train, validation = held(documents(*(f"text {number}" for number in range(count))), **values)
    assert (len(train), len(validation)) == (count - expected, expected)


def test_something_must_be_left_to_train_on() -> None:
    with pytest.raises(UsageError, match=r"notes\.txt: no text is left to train on"):
        held(documents("same", "same", " same"), fraction=0.1)


@pytest.mark.parametrize("values", [{"group": "author"}, {"file": "other.csv"}])
def test_a_language_model_holds_out_a_share_alone(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="leave out group, time and file"):
        held(documents("one", "two"), **values)
