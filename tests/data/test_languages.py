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


SHORT = {
    "German": [
        "Leider passt die Hose nicht",
        "Bestellung kam zu spät an",
        "Wo bleibt mein Paket?",
        "Super Qualität, danke",
        "Die Farbe ist anders als im Bild",
        "Rechnung fehlt noch immer",
        "Bitte Adresse ändern",
        "Kundin wartet seit Montag",
        "Das Gerät geht nicht an",
        "Möchte umtauschen",
        "Alles bestens, gerne wieder",
        "Lieferung unvollständig",
        "Der Akku hält nicht lange",
        "Ware beschädigt angekommen",
        "Telefon nie erreichbar",
        "Preis viel zu hoch",
        "Habe zweimal bezahlt",
        "Schnelle Lieferung, top",
        "Gutschein wird nicht erkannt",
        "Kann mich nicht anmelden",
        "Passwort vergessen",
        "Größe fällt klein aus",
        "Sehr nette Beratung",
        "Das Kabel ist zu kurz",
        "Retoure noch nicht erstattet",
        "Geht gar nicht, nie wieder",
        "Montage war einfach",
        "Anleitung nur auf Englisch",
        "Rückgeld nicht erhalten",
        "Lampe flackert ständig",
    ],
    "French": [
        "Le colis n'est pas arrivé",
        "Très bonne qualité, merci",
        "La taille ne va pas",
        "Facture toujours absente",
        "Où est ma commande ?",
        "Je veux être remboursé",
        "Produit cassé à la livraison",
        "Livraison rapide et soignée",
        "Impossible de me connecter",
        "Mot de passe oublié",
        "Le prix est trop élevé",
        "Service client injoignable",
        "La couleur est différente",
        "Rien à dire, parfait",
        "J'ai payé deux fois",
        "Il manque une pièce",
        "Notice incompréhensible",
        "La batterie ne tient pas",
        "Changer mon adresse svp",
        "Code promo refusé",
        "Montage facile",
        "Je recommande vivement",
        "Retour toujours pas traité",
        "Le câble est trop court",
    ],
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_table_of_one_language(name: str) -> None:
    assert in_words(languages_of(pl.Series(TEXTS[name]))) == f"probably {name}"


def test_of_several_each_has_its_share() -> None:
    mixed = pl.Series([*TEXTS["German"] * 12, *TEXTS["English"] * 6, *TEXTS["French"]])
    assert in_words(languages_of(mixed)) == "probably German (63%), English (32%)", "5% may be mistakes"


@pytest.mark.parametrize("name", SHORT)
def test_short_texts_that_are_taken_for_another_language_do_not_name_it(name: str) -> None:
    assert in_words(languages_of(pl.Series(SHORT[name]))) == f"probably {name}"


def test_of_short_texts_in_two_languages_both_are_named_or_none() -> None:
    assert languages_of(pl.Series([*SHORT["German"], *SHORT["French"]])) == {}, "only one has three tenths"
    both = [*TEXTS["German"] * 10, *TEXTS["French"] * 10]
    assert in_words(languages_of(pl.Series(both))) == "probably German (50%), French (50%)"
    long = [text * 3 for text in (*TEXTS["German"] * 12, *TEXTS["Vietnamese"] * 2)]
    assert in_words(languages_of(pl.Series(long))) == "probably German (86%), Vietnamese (14%)"


def test_short_texts_tell_nothing() -> None:
    assert languages_of(pl.Series(["ok", "", "12345 67890 12345", "non"])) == {}
    assert in_words({}) == ""
