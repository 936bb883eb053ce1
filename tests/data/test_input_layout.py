from glassformer.data.input_layout import Layout
from glassformer.data.inputs import Category, Inputs

INPUTS = Inputs(
    texts=("question", "answer"),
    columns=(Category(name="shop", values=("Ulm",)), Category(name="size", values=("L",))),
)
ROW = INPUTS.compose({"question": "is it red", "answer": "no", "shop": "Ulm", "size": None})


def test_a_row_is_laid_out_and_its_words_are_found_there() -> None:
    layout = Layout.of(ROW, INPUTS)
    assert layout.text == "shop=Ulm, size=missing\nquestion: is it red\nanswer: no"
    for word, name in (("shop=Ulm", "shop"), ("size=missing", "size"), ("red", "question"), ("no", "answer")):
        inside = ROW.rindex(word)
        around = 1 if "=" in word else 0  # the brackets
        start, end = layout.span(inside - around, inside + len(word) + around)
        assert layout.text[start:end] == word
        assert layout.input_of(inside - around) == name


def test_a_passage_over_two_texts_is_found() -> None:
    layout = Layout.of(ROW, INPUTS)
    start, end = layout.span(ROW.index("red"), len(ROW))
    assert layout.text[start:end] == "red\nanswer: no"


def test_a_plain_text_stays_as_it_is() -> None:
    layout = Layout.of("is it red", None)
    assert (layout.text, layout.span(3, 5), layout.input_of(3)) == ("is it red", (3, 5), None)


def test_an_empty_row_is_laid_out() -> None:
    assert Layout.of("", INPUTS).text == "question: "
