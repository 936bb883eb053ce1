import dataclasses
import re
from html import unescape
from pathlib import Path

import numpy as np

from glassformer.explanation.explain import explain
from glassformer.explanation.explanation import Explanation
from glassformer.explanation.page import render, words, write_explanation
from glassformer.explanation.shares import NgramInMargin, WordShare
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from tests.explanation.test_explain import two_readers
from tests.prediction.keeping import keeping
from tests.prediction.samples import small_trained_model
from tests.support import flat
from tests.tracing.test_trace import with_body

TEXT = "The plot is thin, but <i>i</i> loved it"


def shown_page(found: Explanation) -> str:
    return flat(render(found))


def test_the_text_is_shown_as_it_is_with_every_strong_word_marked() -> None:
    found = explain(Predictor(two_readers()), TEXT)
    marked = words(found)
    assert "&lt;" in marked
    assert "<i>" not in marked
    strongest = found.words[int(np.argmax([abs(word.total) for word in found.words]))]
    side = "for" if strongest.total > 0 else "against"
    assert f'class="{side}" style="--share: 60%"' in marked


def test_a_page_tells_the_margin_and_the_verdict(tmp_path: Path) -> None:
    found = explain(Predictor(two_readers()), TEXT)
    write_explanation(tmp_path / "why.html", found)
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    assert found.verdict in page
    assert "Orange and underlined: speaks against it." in page
    assert f"{found.margin:+.2f}".replace("-", "−") in page
    assert "What counting found" in page
    assert "What counting found" not in shown_page(explain(Predictor(small_trained_model()), TEXT))


def test_the_foot_says_of_the_readers_that_answer_whether_shares_are_exact() -> None:
    def foot(trained: TrainedModel) -> str:
        (said,) = re.findall(r"<footer>(.*?)</footer>", shown_page(explain(Predictor(trained), TEXT)))
        return flat(re.sub("<[^>]*>", "", said)).strip()

    assert (
        foot(two_readers())
        == "Shares of counting are exact. Shares of the transformer are estimated by Shapley values."
    )
    assert foot(with_body(two_readers(transformer=0.0))) == "Shares of counting and the body are exact."
    assert foot(small_trained_model()) == "Shares of the transformer are estimated by Shapley values."


def test_a_notebook_shows_the_page_in_a_frame() -> None:
    shown = explain(Predictor(small_trained_model()), TEXT)._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<i>" not in shown


def test_the_nearest_training_texts_are_shown_as_text() -> None:
    texts = ("the <b>plot</b>", "i <i>loved " * 40, "i loved it")
    predictor = Predictor(keeping(two_readers(), texts=texts, labels=(0, 1, 2)))
    page = shown_page(explain(predictor, "i loved it", nearest=True, faithfulness=False))
    assert "Nearest training texts" in page
    assert "This text is a training text: row 12, label good." in page
    assert "the &lt;b&gt;plot&lt;/b&gt;" in page
    assert page.count("<details>") == 1
    (ends,) = re.findall(r"<td>([^<]*)<details>", page)
    assert set(unescape(ends).split()) == {"i", "<i>loved", "…"}  # cut between words
    assert f">{texts[1].replace('<', '&lt;').replace('>', '&gt;')}</span>" in page
    assert "<i>" not in page
    assert "Nearest training texts" not in shown_page(explain(predictor, TEXT))


def test_a_column_stands_for_a_reader_that_takes_part_and_what_matters_comes_first() -> None:
    def head(page: str) -> list[str]:
        (row,) = re.findall(r"adds to the margin.*?<thead><tr>(.*?)</tr>", page)
        return re.findall(r"<th[^>]*>(.*?)</th>", row)

    assert head(shown_page(explain(Predictor(two_readers()), TEXT))) == ["word", "both", "counting", "transformer"]
    assert head(shown_page(explain(Predictor(small_trained_model()), TEXT))) == ["word", "share"]


def test_of_a_long_text_the_strongest_words_are_listed_and_the_others_are_summed_up() -> None:
    words = [
        WordShare(word=f"w{number}", start=number, end=number, shares={"counting": number / 100})
        for number in range(1, 131)
    ]
    page = shown_page(dataclasses.replace(explain(Predictor(two_readers()), TEXT), words=tuple(words)))
    table = page[page.index('id="words"') : page.index('id="ngrams"')]
    assert re.findall(r'<th scope="row">(w\d+)', table) == [f"w{number}" for number in range(31, 131)]
    assert '<th scope="row">the other 30 words</th><td>+4.65</td>' in table


def test_spaces_in_runs_of_characters_are_visible_and_weak_ngrams_left_out() -> None:
    ngrams = (
        NgramInMargin(ngram="not", family="words", count=1, share=0.5),
        NgramInMargin(ngram=" not", family="characters", count=1, share=0.4),
        NgramInMargin(ngram="not so", family="words", count=1, share=-0.3),
        NgramInMargin(ngram="weak", family="words", count=1, share=-0.004),
    )
    page = shown_page(dataclasses.replace(explain(Predictor(two_readers()), TEXT), ngrams=ngrams))
    table = page[page.index('id="ngrams"') :]
    rows = re.findall(r'<th scope="row">([^<]*)</th><td>(words|characters)</td>', table)
    assert rows == [("not", "words"), ("␣not", "characters"), ("not so", "words")]
