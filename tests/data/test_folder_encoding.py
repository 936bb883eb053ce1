"""The encoding of a folder of texts is found by all of its files, as a short one says too little."""

import gzip
import unicodedata
from pathlib import Path

import pytest

from glassformer.data.documents import read_unlabelled
from glassformer.data.encodings import decoded_text, reading_as
from glassformer.data.table import read_table
from glassformer.errors import UsageError

FRENCH = (
    "mauvaise expérience", "café froid", "hôtel bruyant, chambre délabrée", "le dîner était brûlé",
    "très mauvais accueil",
    "déçu par la propreté", "réservation annulée sans prévenir", "à éviter", "ça ne vaut rien", "rien",
    "très bon café", "séjour agréable", "une soirée réussie, merci à tous", "j'ai adoré la crème brûlée", "superbe vue",
    "accueil chaleureux dès l'arrivée", "bel été à la plage, idéal pour les enfants", "rien à redire",
    "déjeuner copieux",
)  # fmt: skip
RUSSIAN = (
    "плохой сервис", "еда холодная", "грязный номер", "персонал грубит", "очень дорого", "не работает интернет",
    "очень хороший отель", "вкусный ужин, спасибо", "прекрасный вид из окна", "всё понравилось", "быстрая доставка",
)  # fmt: skip
VIETNAMESE = (
    "phòng bẩn", "nhân viên thô lỗ", "đồ ăn dở", "giá quá đắt", "chất lượng kém", "không hài lòng", "ồn ào",
    "phòng rất đẹp", "đồ ăn ngon", "giá cả hợp lý", "giao hàng nhanh", "chất lượng tốt", "sẽ quay lại",
    "phục vụ chu đáo",
)  # fmt: skip
TONES = "\u0300\u0301\u0303\u0309\u0323"


def bytes_of(text: str, encoding: str) -> bytes:
    """Encode a text. Windows-1258 has the tones of Vietnamese as characters of their own."""
    if encoding == "cp1258":
        apart = [unicodedata.normalize("NFD", one) for one in text]
        text = "".join(
            unicodedata.normalize("NFC", "".join(part for part in one if part not in TONES))
            + "".join(part for part in one if part in TONES)
            for one in apart
        )
    return text.encode(encoding)


def folder_of(folder: Path, texts: tuple[str, ...], *encodings: str) -> Path:
    """Write each text to a file of its own, half of them in each of two classes, in the encodings by turns."""
    for place, text in enumerate(texts):
        file = folder / ("bad" if place < len(texts) / 2 else "good") / f"{place:02}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes_of(text, encodings[place % len(encodings)]))
    return folder


def texts_in(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the texts of a folder of classes, and what was said of encodings."""
    table = read_table(folder)
    texts = tuple(unicodedata.normalize("NFC", text) for text in table.frame["text"])
    return texts, tuple(note for note in table.notes if " files " in note)


@pytest.mark.parametrize(
    ("texts", "encoding", "said"),
    [
        (FRENCH, "cp1252", "17 of 19 files read as Windows-1252: 38 bytes such as 0xe9 in bad/00.txt are not UTF-8; é"),
        (RUSSIAN, "cp1251", "11 of 11 files read as Windows-1251: "),
        (RUSSIAN, "koi8-r", "11 of 11 files read as KOI8-R: "),
        (VIETNAMESE, "cp1258", "14 of 14 files read as Windows-1258: "),
    ],
)
def test_short_files_are_read_in_one_encoding(texts: tuple[str, ...], encoding: str, said: str, tmp_path: Path) -> None:
    found, notes = texts_in(folder_of(tmp_path, texts, encoding))
    assert found == texts
    assert len(notes) == 1
    assert notes[0].startswith(said)


def test_some_of_them_are_misread_alone() -> None:
    """Else the tests above would show nothing."""
    assert [text for text in FRENCH if decoded_text(text.encode("cp1252"), "") != text] != []


@pytest.mark.parametrize(
    ("texts", "encoding", "spelled"),
    [(FRENCH, "cp1252", "Windows-1252"), (RUSSIAN, "koi8-r", "KOI8-R"), (VIETNAMESE, "cp1258", "Windows-1258")],
)
def test_files_in_utf_8_and_utf_16_may_be_among_them(
    texts: tuple[str, ...], encoding: str, spelled: str, tmp_path: Path
) -> None:
    found, notes = texts_in(folder_of(tmp_path, texts, encoding, "utf-8", "utf-16"))
    assert found == texts
    assert len(notes) == 1
    assert f" files read as {spelled}: " in notes[0]


def test_files_that_are_clearly_in_another_encoding_are_read_by_themselves(tmp_path: Path) -> None:
    found, notes = texts_in(folder_of(tmp_path, RUSSIAN, "cp1251", "koi8-r"))
    assert found == RUSSIAN
    assert notes == (
        "11 of 11 files are not UTF-8, and not all in one encoding: 6 × read as Windows-1251 (first: bad/00.txt), "
        "5 × read as KOI8-R (first: bad/01.txt)",
    )


def test_a_file_that_the_encoding_of_the_others_does_not_fit_is_read_by_itself(tmp_path: Path) -> None:
    folder_of(tmp_path, FRENCH * 3, "cp1252")
    (tmp_path / "good" / "zz.txt").write_bytes("приятная атмосфера, мы ещё вернёмся ".encode("koi8-r") + b"\x81")
    found, (note,) = texts_in(tmp_path)
    assert found[:-1] == FRENCH * 3
    assert found[-1].startswith("приятная")
    assert "51 × read as Windows-1252 (first: bad/00.txt), 1 × read as KOI8-R (first: good/zz.txt)" in note


def test_a_named_encoding_holds_for_all_files(tmp_path: Path) -> None:
    folder_of(tmp_path, RUSSIAN, "cp855", "utf-8")
    assert texts_in(tmp_path)[0] != RUSSIAN
    with reading_as("cp855"):
        assert texts_in(tmp_path)[0] == RUSSIAN


def test_what_fits_no_encoding_and_mixed_files_are_named(tmp_path: Path) -> None:
    folder_of(tmp_path, FRENCH, "cp1252")
    (tmp_path / "good" / "mixed.txt").write_bytes("déçu\n".encode("cp1252") + "déçu, à éviter".encode())
    with pytest.raises(UsageError, match=r"mixed\.txt, line 1: .* mixes encodings"):
        read_table(tmp_path)
    (tmp_path / "good" / "mixed.txt").write_bytes(bytes(range(256)).replace(b"\n", b""))
    with pytest.raises(UsageError, match=r"mixed\.txt, line 1: control characters"):
        read_table(tmp_path)


def test_texts_without_classes_and_compressed_ones_are_read_in_one_encoding(tmp_path: Path) -> None:
    folder_of(tmp_path, FRENCH, "cp1252")
    (tmp_path / "last.txt.gz").write_bytes(gzip.compress("à redire".encode("cp1252")))
    found = read_unlabelled(str(tmp_path))
    assert tuple(found.texts) == (*FRENCH, "à redire")
    assert found.notes[0] == "20 text files"
    assert found.notes[1].startswith(
        "18 of 20 files read as Windows-1252: 39 bytes such as 0xe9 in bad/00.txt are not "
    )
