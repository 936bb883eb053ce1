"""The rows of the model that comes with the package: reviews, sentences of them, tweets, and the rows to measure on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.experiment import Experiment
from glassformer.data.known import KNOWN, data_folders, resolve
from glassformer.data.table import Table, read_table

SEED = 0
UNSEEN = "customer-reviews"
FEWEST_WORDS, MOST_WORDS = 4, 25  # of a sentence
MOST_SENTENCES = 6  # of a review
LEAST_AGREEMENT = 0.4
TEACHERS = 3
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")


def training_rows(experiment: Experiment) -> Table:
    """Return the training rows of both data sets as one table. Reviews of one film form a group."""
    reviews, tweets = resolve("imdb", "train", group="movie"), resolve("sentiment140", "train")
    columns = ("text", "label", "group")
    masked = tweets.frame.with_columns(
        pl.col("text").str.replace_all(r"@\w+", "@user"), pl.format("tweet {}", "row").alias("group")
    )
    frame = pl.concat([reviews.frame.select(columns), masked.select(columns)]).with_row_index("row", 1)
    if experiment.quick:
        frame = frame.sample(400, seed=SEED)
    return replace(reviews, frame=frame, source="imdb and sentiment140", dropped=(), notes=())


def test_rows(experiment: Experiment) -> dict[str, Table]:
    """Return the test rows by the name of their data set."""
    unseen = read_table(_file(UNSEEN, "all.parquet"), text="text", label="label")
    unseen = replace(unseen, frame=unseen.frame.with_columns(pl.col("label").replace(KNOWN["imdb"].label_names)))
    tests = {"imdb": resolve("imdb", "test"), "sentiment140": resolve("sentiment140", "test"), UNSEEN: unseen}
    if experiment.quick:
        tests = {name: replace(test, frame=test.frame.sample(50, seed=SEED)) for name, test in tests.items()}
    return tests


def _file(name: str, file: str) -> Path:
    """Return a file of a data set that is not among the known ones."""
    return next(path for folder in data_folders() if (path := folder / name / file).is_file())


def with_sentences(train: Table) -> Table:
    """Return the rows with sentences of the reviews as rows of their own, with the label of their review.

    Reviews that praise a film blame some of it, and tell its story. So a sentence is left out if TF-IDF + logistic
    regression gives the label of its review a probability of at most `LEAST_AGREEMENT`. That regression learned from
    the reviews of other films and from tweets, never from this film. Of a review with more than `MOST_SENTENCES`
    sentences left, so many are drawn by the seed.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline

    frame, labels = train.frame, class_numbers(train.frame)
    whole = pl.Series(sentences_of(text) for text in frame["text"]).cast(pl.List(pl.String))
    reviews = frame.with_columns(whole.alias("text"), pl.int_range(pl.len()).alias("place")).filter(
        ~pl.col("group").str.starts_with("tweet ")
    )
    kept = []
    for learned, held_out in GroupKFold(TEACHERS).split(labels, groups=frame["group"]):
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=3, token_pattern=r"\b\w+\b")
        teacher = make_pipeline(words, LogisticRegression(C=4, max_iter=300))
        teacher.fit(frame["text"].gather(learned).to_list(), labels[learned])
        own = reviews.filter(pl.col("place").is_in(held_out)).explode("text").drop_nulls("text")
        positive = teacher.predict_proba(own["text"].to_list())[:, 1]
        agreement = np.where(own["label"] == "positive", positive, 1 - positive)
        drawn = pl.int_range(pl.len()).shuffle(seed=SEED).over("place") < MOST_SENTENCES
        kept.append(own.filter(agreement > LEAST_AGREEMENT).filter(drawn))
    sentences = pl.concat(kept).sort("place", maintain_order=True).drop("row", "place")
    first = int(frame["row"].to_numpy().max()) + 1
    sentences = sentences.with_row_index("row", first).select(frame.columns)
    return replace(train, frame=pl.concat([frame, sentences]), source="imdb, sentences of it, and sentiment140")


def sentences_of(text: str) -> list[str]:
    """Return the sentences of `FEWEST_WORDS` to `MOST_WORDS` words."""
    parts = (part.strip() for part in _END.split(text.replace("<br />", " ")))
    return [part for part in parts if FEWEST_WORDS <= len(re.findall(r"\w+", part)) <= MOST_WORDS]


def class_numbers(rows: pl.DataFrame) -> np.ndarray[Any, Any]:
    """Return 0 for negative and 1 for positive."""
    return (rows["label"] == "positive").cast(pl.Int64).to_numpy()
