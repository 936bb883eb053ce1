"""In which languages texts are written."""

import polars as pl
import pytest

from glassformer.data.languages import in_words, languages_of

TEXTS = {
    "English": [
        "The lamp is fine, thank you for the quick answer.",
        "I have been waiting for my parcel for two weeks.",
    ],
    "German": ["Die Lampe ist leider schon nach zwei Tagen kaputt.", "Ich warte seit zwei Wochen auf mein Paket."],
    "French": ["La lampe est arrivée cassée, je suis très déçu.", "J'attends mon colis depuis deux semaines déjà."],
    "Spanish": ["La lámpara llegó rota y nadie me contesta.", "Llevo dos semanas esperando mi paquete, gracias."],
    "Vietnamese": ["Giảng viên rất nhiệt tình và dễ hiểu.", "Tôi đã chờ gói hàng của mình hai tuần rồi."],
    "Russian": ["Лампа сломалась через два дня, очень жаль.", "Я жду свою посылку уже две недели."],
    "Japanese": [
        "ランプは二日で壊れてしまいました。とても残念です。",
        "荷物を二週間も待っています。早く送ってください。",
    ],
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_table_of_one_language(name: str) -> None:
    assert in_words(languages_of(pl.Series(TEXTS[name]))) == f"probably {name}"


def test_of_several_each_has_its_share() -> None:
    mixed = pl.Series([*TEXTS["German"] * 12, *TEXTS["English"] * 6, *TEXTS["French"]])
    assert in_words(languages_of(mixed)) == "probably German (63%), English (32%)", "5% may be mistakes"


def test_short_texts_tell_nothing() -> None:
    assert languages_of(pl.Series(["ok", "", "12345 67890 12345", "non"])) == {}
    assert in_words({}) == ""
