import io
import random
import time
import unicodedata
import zipfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.encodings import _SPELLED, decoded_text, named_encoding, reading_as
from glassformer.data.lines import text_lines
from glassformer.data.rows import iterate_rows, read_batches
from glassformer.data.sources import SourceConfig, read_like_training, read_sources
from glassformer.data.splits import ValidationConfig
from glassformer.data.table import read_table
from glassformer.errors import UsageError

SENTENCES = {
    "de": (
        "Die Lieferung kam zu spät und die Tür war beschädigt.",
        "Sehr schöne Schuhe, die Größe passt genau.",
        "Für den Preis völlig in Ordnung.",
        "Leider ließ sich das Gerät nicht öffnen.",
        "Überraschend gut, würde ich wieder kaufen.",
        "Der Kundendienst hat mir überhaupt nicht geholfen.",
        "Schnelle Lieferung, alles bestens.",
        "Die Farbe gefällt mir nicht, sie ist blasser als auf dem Bild.",
        "Das Buch ist spannend bis zur letzten Seite.",
        "Nie wieder, das Geld ist weg.",
    ),
    "fr": (
        "Livraison très rapide, je suis ravie.",
        "Le produit est arrivé cassé, déçu.",
        "Qualité médiocre pour ce prix élevé.",
        "Ça marche très bien, merci à l'équipe.",
        "L'écran est trop foncé et le son grésille.",
        "Service après-vente introuvable.",
        "Mon fils adore ce jouet.",
        "La couleur ne correspond pas à la photo.",
        "Très bon café, goût équilibré.",
        "Où est ma commande ? Aucune réponse depuis deux semaines.",
    ),
    "pl": (
        "Przesyłka przyszła bardzo szybko, jestem zadowolona.",
        "Buty są za małe i źle wykonane.",
        "Nie polecam, obsługa klienta nie odpowiada.",
        "Świetna jakość w tej cenie.",
        "Książka wciąga od pierwszej strony.",
        "Urządzenie zepsuło się po dwóch dniach.",
        "Kolor inny niż na zdjęciu.",
        "Dziękuję za szybką wysyłkę.",
        "Wszystko zgodnie z opisem, łatwy montaż.",
        "Straciłem pieniądze, nigdy więcej.",
    ),
    "cs": (
        "Zboží dorazilo velmi rychle, děkuji.",
        "Boty jsou příliš malé a špatně ušité.",
        "Nedoporučuji, zákaznická podpora neodpovídá.",
        "Skvělá kvalita za tuto cenu.",
        "Kniha je napínavá od první stránky.",
        "Přístroj se po dvou dnech rozbil.",
        "Barva je jiná než na obrázku.",
        "Žádná odpověď už dva týdny.",
        "Všechno v pořádku, můžu doporučit.",
        "Už nikdy více.",
    ),
    "hu": (
        "A csomag nagyon gyorsan megérkezett, köszönöm.",
        "A cipő túl kicsi és rossz minőségű.",
        "Nem ajánlom, az ügyfélszolgálat nem válaszol.",
        "Kiváló minőség ezért az árért.",
        "A könyv az első oldaltól izgalmas.",
        "A készülék két nap után elromlott.",
        "A szín más, mint a képen.",
        "Gyönyörű, pont ilyet kerestem.",
        "Minden rendben volt, ajánlani tudom.",
        "Soha többé nem vásárolok itt.",
    ),
    "ru": (
        "Доставка очень быстрая, я доволен.",
        "Обувь слишком маленькая и плохо сшита.",
        "Не рекомендую, поддержка не отвечает.",
        "Отличное качество за эту цену.",
        "Книга захватывает с первой страницы.",
        "Прибор сломался через два дня.",
        "Цвет не такой, как на картинке.",
        "Спасибо за быструю отправку!",
        "Всё соответствует описанию.",
        "Деньги на ветер, больше никогда.",
    ),
    "el": (
        "Η παράδοση ήταν πολύ γρήγορη, ευχαριστώ.",
        "Τα παπούτσια είναι πολύ μικρά.",
        "Δεν το συνιστώ, κανείς δεν απαντά.",
        "Εξαιρετική ποιότητα για την τιμή.",
        "Το βιβλίο είναι συναρπαστικό.",
        "Η συσκευή χάλασε σε δύο μέρες.",
        "Το χρώμα είναι διαφορετικό.",
        "Άψογη εξυπηρέτηση.",
        "Όλα όπως στην περιγραφή.",
        "Ποτέ ξανά.",
    ),
    "tr": (
        "Kargo çok hızlı geldi, teşekkürler.",
        "Ayakkabılar çok küçük ve kötü dikilmiş.",
        "Tavsiye etmiyorum, müşteri hizmetleri cevap vermiyor.",
        "Bu fiyata göre harika kalite.",
        "Kitap ilk sayfadan itibaren sürükleyici.",
        "Cihaz iki gün sonra bozuldu.",
        "Rengi resimdekinden farklı.",
        "Çok beğendim, herkese öneririm.",
        "Her şey açıklamadaki gibi.",
        "Bir daha asla almam, paramı geri istiyorum.",
    ),
    "vi": (
        "Giao hàng rất nhanh, tôi rất hài lòng.",
        "Giày quá nhỏ và chất lượng kém.",
        "Không nên mua, nhân viên không trả lời.",
        "Chất lượng tuyệt vời so với giá.",
        "Cuốn sách hấp dẫn từ trang đầu.",
        "Máy hỏng sau hai ngày sử dụng.",
        "Màu sắc không giống như hình.",
        "Cảm ơn cửa hàng đã giao nhanh.",
        "Mọi thứ đúng như mô tả.",
        "Không bao giờ mua lại nữa.",
    ),
    "zh": (
        "送貨很快，我非常滿意。",
        "鞋子太小，做工也不好。",
        "不推薦，客服沒有人回覆。",
        "這個價格質量很好。",
        "這本書從第一頁就很吸引人。",
        "機器用了兩天就壞了。",
        "顏色和圖片不一樣。",
        "謝謝賣家，包裝很仔細。",
        "一切都和描述相符。",
        "再也不會買了。",
    ),
    "zhs": (
        "送货很快，我非常满意。",
        "鞋子太小，做工也不好。",
        "不推荐，客服没有人回复。",
        "这个价格质量很好。",
        "这本书从第一页就很吸引人。",
        "机器用了两天就坏了。",
        "颜色和图片不一样。",
        "谢谢卖家，包装很仔细。",
        "一切都和描述相符。",
        "再也不会买了。",
    ),
    "ja": (
        "配送がとても早くて満足しています。",
        "靴が小さすぎて、縫製も悪いです。",
        "お勧めしません。サポートから返事がありません。",
        "この値段なら品質は素晴らしい。",
        "最初のページから引き込まれる本です。",
        "二日で機械が壊れました。",
        "色が写真と違います。",
        "丁寧な梱包ありがとうございました。",
        "説明通りの商品でした。",
        "もう二度と買いません。",
    ),
    "ko": (
        "배송이 아주 빨라서 만족합니다.",
        "신발이 너무 작고 바느질이 나쁩니다.",
        "추천하지 않아요. 상담원이 답을 안 합니다.",
        "이 가격에 품질이 훌륭합니다.",
        "첫 페이지부터 빠져드는 책입니다.",
        "이틀 만에 기계가 고장 났어요.",
        "색깔이 사진과 달라요.",
        "꼼꼼한 포장 감사합니다.",
        "설명과 똑같은 상품입니다.",
        "다시는 사지 않겠습니다.",
    ),
    "en": (
        "It’s a great phone – I’d buy it again.",
        "The battery doesn’t last.",
        "“Fast” delivery took three weeks…",
        "My café order never came.",
        "Works as described.",
        "Too small and badly made.",
        "Lovely colour, my daughter’s favourite.",
        "Cost me £30, not worth it.",
        "Customer service was naïve at best.",
        "Would not recommend.",
    ),
}
WRITTEN = [
    *(("de", "cp1252"), ("fr", "cp1252"), ("en", "cp1252"), ("pl", "cp1250"), ("cs", "cp1250"), ("hu", "cp1250")),
    *(("de", "cp850"), ("fr", "cp850"), ("pl", "cp852"), ("cs", "cp852"), ("ru", "cp866")),
    *(("ru", "cp1251"), ("ru", "koi8_r"), ("el", "cp1253"), ("tr", "cp1254"), ("vi", "cp1258")),
    *(("zhs", "gb18030"), ("zh", "big5"), ("ja", "shift_jis"), ("ja", "euc_jp"), ("ko", "euc_kr")),
]


def written(text: str, encoding: str) -> bytes:
    """The bytes of a text. Windows-1258 has the tones of Vietnamese apart from their letters."""
    return (
        b"".join(map(_one_1258, unicodedata.normalize("NFC", text))) if encoding == "cp1258" else text.encode(encoding)
    )


def _one_1258(letter: str) -> bytes:
    try:
        return letter.encode("cp1258")
    except UnicodeEncodeError:
        parts = list(unicodedata.normalize("NFD", letter))
        tone = next(one for one in parts if one in "\u0300\u0301\u0303\u0309\u0323")
        bare = "".join(one for one in parts if one != tone)
        return unicodedata.normalize("NFC", bare).encode("cp1258") + tone.encode("cp1258")


def table(sentences: Sequence[str]) -> str:
    return "text,label\n" + "".join(f'"{text}",{number % 2}\n' for number, text in enumerate(sentences))


def read(raw: bytes) -> tuple[str, list[str]]:
    notes: list[str] = []
    text = "".join(text_lines(io.BytesIO(raw), "a.csv", on_note=notes.append))
    text = text.removeprefix("\ufeff")
    assert text == decoded_text(raw, "a.csv")
    return unicodedata.normalize("NFC", text), notes


@pytest.mark.parametrize(("language", "encoding"), WRITTEN)
def test_the_encoding_of_a_short_table_is_found(language: str, encoding: str) -> None:
    text = unicodedata.normalize("NFC", table(SENTENCES[language]))
    found, notes = read(written(text, encoding))
    assert found == text
    assert len(notes) == 1
    assert "UTF-8; " in notes[0]


def test_in_tables_of_three_rows_a_wrong_answer_is_never_sure() -> None:
    right = 0
    for language, encoding in WRITTEN:
        for seed in range(3):
            text = unicodedata.normalize("NFC", table(random.Random(seed).sample(SENTENCES[language], 3)))
            if not (raw := written(text, encoding)).isascii():
                found, (note,) = read(raw)
                right += found == text
                assert found == text or "It may also be" in note, (language, encoding, note)
    assert right >= 3 * len(WRITTEN) - 3


def test_the_evidence_is_said() -> None:
    _, notes = read(b"text,label\nThe box came late,1\nMy caf\xe9 order,2\n")
    assert notes == ["read as Windows-1252: 1 byte such as 0xe9 in line 3 is not UTF-8; é"]


def test_a_file_that_is_ascii_for_a_megabyte() -> None:
    rows = "the parcel came late,1\n" * 50_000
    frames = iterate_rows(io.BytesIO(f"text,n\n{rows}Käse für Bären,2\n".encode("cp1252")), rows_per_batch=60_000)
    assert next(frames)["text"][-1] == "Käse für Bären"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("language", ["de", "zh", "ru", "vi"])
def test_utf_16_and_utf_32_need_no_mark(language: str, encoding: str) -> None:
    text = table(SENTENCES[language] * 99)
    found, notes = read(text.encode(encoding))
    assert found == unicodedata.normalize("NFC", text)
    assert notes[0].startswith(f"read as {encoding[:6].upper()}")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("olé,1\n".encode() + b"caf\xe9,2\n", r"line 2: byte 4 .*0xe9, is not UTF-8, and line 1 is \(é\).*mixes"),
        (b"caf\xe9,2\n" + "olé,1\n".encode(), r"line 1: byte 4 .*and line 2 is \(é\)"),
        (b"\xef\xbb\xbftext\n\xe9\n", r"line 2: byte 1.*line 1 is \(its byte order mark\)"),
        ("olé\n".encode() + b"x\n" * 50_000 + b"\xe9\n", "line 50002: byte 1"),
        ("Bär\n".encode("cp1252") + b"x\n" * 50_000 + b"\x81\n", "line 50002.*does not fit Windows-1252.*before it"),
        ("Bär\n".encode("utf-16") + b"\0", "line 2: the byte 0x00 does not fit UTF-16"),
    ],
)
def test_bytes_that_do_not_fit_are_named_with_their_line(raw: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=rf"(?s)a\.csv, {words}"):
        list(text_lines(io.BytesIO(raw), "a.csv"))


def test_a_french_line_that_happens_to_be_utf8_is_french() -> None:
    text = "PASSÉ…\n" + "\n".join(SENTENCES["fr"])
    assert read(text.encode("cp1252"))[0] == text


def texts_as(encoding: str, path: Path) -> list[str]:
    with reading_as(encoding):
        return read_table(path).frame["text"].to_list()


def test_a_named_encoding_takes_the_place_of_what_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nÅngström,yes\nплохо,no\n".encode("utf-16-le"))
    assert texts_as("UTF-16LE", path) == texts_as("utf-16", path) == ["Ångström", "плохо"]
    path.write_bytes("text,label\nпривет,yes\nплохо,no\n".encode("koi8-r"))
    with reading_as("koi8-r"):
        table = read_table(path)
    assert table.frame["text"].to_list() == ["привет", "плохо"]
    assert not any("read as" in note for note in table.notes)
    assert texts_as("cp1251", path) != ["привет", "плохо"]
    for encoding in ("ascii", "utf-8"):
        with pytest.raises(UsageError, match=r"line 2: byte 1 .*0xd0, does not fit .*, as `encoding=` says"):
            texts_as(encoding, path)
    path.write_bytes("text,label\n良い,yes\n悪い,no\n".encode("iso2022_jp"))
    assert texts_as("iso2022_jp", path) == ["良い", "悪い"]


@pytest.mark.parametrize("named", ["cp1252", "utf-16", "cp037", "iso2022_jp"])
@pytest.mark.parametrize("own", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_that_shows_its_encoding_is_read_in_it(own: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nÅngström,yes\nплохо,no\n".encode(own))
    if own == "utf-8" and named in ("cp037", "iso2022_jp"):  # they need no byte beyond ASCII, or all of them
        with pytest.raises(UsageError):
            texts_as(named, path)
        return
    with reading_as(named):
        table = read_table(path)
    assert table.frame["text"].to_list() == ["Ångström", "плохо"]
    if named == "cp1252":
        said = {
            "utf-8": "read as UTF-8 and not as Windows-1252, by line 2 (Å)",
            "utf-8-sig": "read as UTF-8 and not as Windows-1252, by line 1 (its byte order mark)",
            "utf-16": "read as UTF-16: its byte order mark says so",
        }
        assert said[own] in table.notes
    refuted = "though `encoding=` says so: it does not begin as such text does"
    assert any(refuted in note for note in table.notes) is (own != "utf-16" and named != "cp1252")
    assert decoded_text("плохо\n".encode(own), "a.txt") == "плохо\n"


def test_a_file_that_cannot_be_in_the_named_encoding_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    said = "not read as UTF-16, though `encoding=` says so: it does not begin as such text does"
    for content, found in {"Müll": "Windows-1252", "Mull": None}.items():
        path.write_bytes(f"text,label\n{content},yes\nplus,no\n".encode("cp1252"))
        with reading_as("utf-16"):
            table = read_table(path)
        assert table.frame["text"].to_list() == [content, "plus"]
        assert table.notes[0] == said
        assert found is None or any(f"read as {found}" in note for note in table.notes[1:])


def test_bytes_that_are_utf8_by_chance_are_in_the_named_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\n牡,yes\nok,no\n".encode("gbk"))
    assert path.read_bytes().decode()  # it happens to be UTF-8
    assert texts_as("gbk", path) == ["牡", "ok"]


@pytest.mark.parametrize("encoding", ["cp437", "utf-16-le", "shift_jis"])
def test_a_whole_text_is_read_in_the_named_encoding(encoding: str) -> None:
    text = "Ω\nplain\n" if encoding == "cp437" else "日本\nplain\n"
    with reading_as(encoding):
        assert decoded_text(text.encode(encoding), "a.txt") == text
        assert decoded_text(b"plain\n" if encoding != "utf-16-le" else b"\xff\xfep\0", "a.txt") in ("plain\n", "p")
        if encoding != "utf-16-le":
            assert decoded_text("плохо ".encode() * 20_000, "a.txt") == "плохо " * 20_000  # longer than is looked at
    with reading_as("ascii"), pytest.raises(UsageError, match=r"b\.txt, line 2: .* does not fit ascii, as `encoding=`"):
        decoded_text("a\né".encode("cp437"), "b.txt")


def test_one_encoding_holds_for_every_table_of_a_run(tmp_path: Path) -> None:
    for name in ("train.csv", "valid.csv", "test.csv", "new.csv"):
        rows = f"text,label\nпривет {name},yes\nплохо {name},no\n"
        (tmp_path / name).write_bytes(rows.encode("koi8-r"))
    paths = {name: str(tmp_path / f"{name}.csv") for name in ("train", "valid", "test", "new")}
    source = SourceConfig(train=paths["train"], test=paths["test"], added=(paths["new"],), encoding="koi8-r")
    sources = read_sources(source, ValidationConfig(file=paths["valid"]), None)
    assert sources.validation is not None
    assert sources.test is not None
    tables = (sources.train, sources.validation, sources.test, *sources.added)
    assert [table.frame["text"][0] for table in tables] == [
        f"привет {name}" for name in ("train.csv", "valid.csv", "test.csv", "new.csv")
    ]


def test_the_tables_of_training_are_read_again_in_their_encoding(tmp_path: Path) -> None:
    for name in ("train.csv", "new.csv", "other.csv"):
        (tmp_path / name).write_bytes("text,été\nnaïve café,yes\nthé,no\n".encode("mac_roman"))
    train, new, other = (str(tmp_path / name) for name in ("train.csv", "new.csv", "other.csv"))
    source = SourceConfig(train=train, added=(new,), label="été", encoding="mac_roman")
    for data in (train, new):
        table = read_like_training(data, source, None, labels=("yes", "no"))
        assert table.frame["text"].to_list() == ["naïve café", "thé"]
    assert read_like_training(other, source, None, labels=("yes", "no")).frame["text"][0] != "naïve café"
    with reading_as("cp437"):
        assert read_like_training(train, source, None, labels=("yes", "no")).frame["text"][0] == "naïve café".encode(
            "mac_roman"
        ).decode("cp437")


def test_an_encoding_that_is_unknown_or_of_no_text_is_refused() -> None:
    for name in ("utf-88", "rot13", "idna", "a\0b"):
        with pytest.raises(UsageError, match="is not an encoding that Python knows"), reading_as(name):
            pass
    with pytest.raises(UsageError, match="Did you mean 'latin_1'"), reading_as("latin-11"):
        pass
    with pytest.raises(
        UsageError, match=r"`encoding=''` names no encoding\. Give one such as utf_8, .*cp1252, .*or leave"
    ):
        reading_as("").__enter__()


def test_an_encoding_may_be_named_as_notes_name_it() -> None:
    """Also where Python has a narrower encoding by that name: Shift-JIS, EUC-KR and Big5."""
    assert _SPELLED["cp949"] == "EUC-KR"
    for encoding, name in _SPELLED.items():
        for typed in (name, name.lower(), name.replace("-", "_")):
            with reading_as(typed):
                assert named_encoding() == encoding


def test_utf_8_with_a_mark_is_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\né,yes\nà,no\n", encoding="utf-8-sig")
    with reading_as("utf-8-sig"):
        assert not any("read as" in note for note in read_table(path).notes)


def test_the_mark_by_which_dos_ends_a_text_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for end in ("\x1a", "\x1a\r\n"):
        path.write_bytes(f"text\r\na\r\n\x1a\r\nb\r\n{end}".encode())
        (batch,) = read_batches(path, rows_per_batch=9)
        assert batch["text"].to_list() == ["a", "\x1a", "b"]


def test_many_lines_that_hold_the_mark_of_dos_take_no_time(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_bytes(b"text\n" + 50_000 * b"\x1a\n" + b"b\n")
    begun = time.process_time()
    assert sum(batch.height for batch in iterate_rows(path, rows_per_batch=10_000)) == 50_001
    assert time.process_time() - begun < 5  # it is 0.3; each line through an iterator more took 12


def test_what_is_no_text_has_no_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"text": ["a"], "label": ["b"]}).write_parquet(path)
    with reading_as("cp1252"):
        assert "no text file, so `encoding=` says nothing of it" in read_table(path).notes


def test_a_folder_or_archive_has_one_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text,label\nпривет,yes\n".encode("koi8-r"))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("x.csv", "text,label\nпривет,yes\n".encode("koi8-r"))
        archive.writestr("y.csv", "text,label\nпока,yes\n".encode("koi8-r"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.csv").rename(tmp_path / "folder" / "a.csv")
    for name, label in (("привет", "yes"), ("пока", "no")):
        (tmp_path / "classes" / label).mkdir(parents=True)
        (tmp_path / "classes" / label / "1.txt").write_bytes(name.encode("koi8-r"))
    for name, texts in {"folder": ["привет"], "b.zip": ["привет", "пока"], "classes": ["пока", "привет"]}.items():
        assert texts_as("koi8-r", tmp_path / name) == texts
