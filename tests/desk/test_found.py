import polars as pl

from glassformer.desk.found import described
from glassformer.desk.labelling import labelling_of


def test_what_a_person_should_know_is_said() -> None:
    texts = [
        "please call me at jane@example.org about the broken lamp that i have bought at your shop in may",
        "the lamp is fine, thank you very much for the quick answer and for all of your patience with me",
        "the lamp is fine, thank you very much for the quick answer and for all of your patience with us",
        "лампа сломалась",
        "лампа сломалась",
    ]
    said = described(pl.DataFrame({"text": texts, "label": ["bad", "good", None, None, None]}), labelling_of({}))
    assert said == [
        "5 texts; half of them have 95 characters or less, one in twenty has more than 95",
        "written in Latin, Cyrillic letters; probably English",
        "1 text repeats another one",
        "1 text is nearly the same as an earlier one",
        "what looks like personal data: e-mail address in 1",
        "2 texts have a label already: 2 classes",
    ]
