"""The sentences that the model of the package learns from, beside whole reviews."""

import polars as pl

from benchmarks.sentiment_rows import sentences_of, with_sentences
from glassformer.data.table import Table

PRAISE, BLAME = "I loved this wonderful film.", "I hated this dull film."


def _table(texts: list[tuple[str, str, str]]) -> Table:
    frame = pl.DataFrame(texts, schema=["text", "label", "group"], orient="row").with_row_index("row", 1)
    return Table(frame=frame, source="reviews", text_column="text", label_column="label", dropped=(), notes=())


def test_a_review_is_cut_into_sentences() -> None:
    text = 'It began well enough.<br /><br />Then "it all went wrong!" Why? I do not know'
    assert sentences_of(text) == ["It began well enough.", 'Then "it all went wrong!', "I do not know"]
    assert sentences_of("Too short.") == []


def test_sentences_of_the_other_label_are_left_out_and_tweets_stay_whole() -> None:
    reviews = [
        row
        for film in range(12)
        for row in (
            (f"{PRAISE} So wonderful. {BLAME if film == 0 else PRAISE}", "positive", f"film {film}"),
            (f"{BLAME} So very dull.", "negative", f"film {film}"),
        )
    ]
    tweets = [("Off to work now. It will rain today.", "negative", "tweet 1"), ("So dull.", "negative", "tweet 2")]
    whole = _table(reviews + tweets)
    learned = with_sentences(whole)
    assert learned.frame.head(whole.frame.height).equals(whole.frame)
    sentences = learned.frame.tail(-whole.frame.height)
    assert set(sentences.select("text", "label").rows()) == {(PRAISE, "positive"), (BLAME, "negative")}
    assert sentences.filter(pl.col("text") == PRAISE).height == 2 * 12 - 1, "film 0 is praised once and blamed once"
    assert learned.frame["row"].is_unique().all()
    pairs = learned.frame.select("group", "label").unique()
    assert pairs.height == whole.frame.select("group", "label").unique().height
