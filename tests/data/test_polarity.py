import re
from collections import Counter
from itertools import pairwise
from typing import Literal

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from glassformer.data.polarity import (
    FAVOURABLE,
    QUESTION,
    SUBJECTS,
    TEMPLATES,
    UNFAVOURABLE,
    asked_about,
    generate,
    read_opinion,
    subject_of,
)
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table

TRAIN, TEST = generate("train"), generate("test")
JUDGEMENTS = {*FAVOURABLE, *UNFAVOURABLE}


def words(sentence: str) -> list[str]:
    return re.findall(r"\w+", sentence)


def combinations(table: Table) -> set[frozenset[str]]:
    """The two judgements of a sentence, or its one judgement and its subject."""
    found = set()
    for sentence in table.frame["text"]:
        judgements = JUDGEMENTS.intersection(words(sentence))
        found.add(
            frozenset(judgements if len(judgements) == 2 else judgements | {*SUBJECTS}.intersection(words(sentence)))
        )
    return found


def test_the_sentences_are_the_same_every_time() -> None:
    assert fingerprint(generate("train")) == fingerprint(TRAIN)
    assert fingerprint(TRAIN)[:12] == "2b9ae7410f33"
    assert fingerprint(TEST)[:12] == "0e31d46eb6e8"


@pytest.mark.parametrize(("table", "n_rows"), [(TRAIN, 4_000), (TEST, 1_000)])
def test_half_of_the_distinct_sentences_is_positive(table: Table, n_rows: int) -> None:
    assert table.frame["text"].n_unique() == n_rows
    assert Counter(table.frame["label"]) == {"positive": n_rows // 2, "negative": n_rows // 2}


def test_combinations_of_the_test_never_occur_in_training() -> None:
    assert all(len(combination) == 2 for combination in combinations(TRAIN) | combinations(TEST))
    assert not combinations(TRAIN) & combinations(TEST)


def test_every_word_of_the_test_occurs_in_training() -> None:
    seen = {word for sentence in TRAIN.frame["text"] for word in words(sentence)}
    assert {word for sentence in TEST.frame["text"] for word in words(sentence)} <= seen


def test_no_negation_stands_beside_what_it_negates() -> None:
    cues = {"not", "hardly", "anything", "but", "neither", "nor", "being", "although", "instead", "only"}
    for sentence in TRAIN.frame["text"]:
        assert not any(second in JUDGEMENTS and first in cues for first, second in pairwise(words(sentence)))


@pytest.mark.parametrize("longest", [1, 2])
def test_a_bag_of_words_does_badly(longest: int) -> None:
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, longest)), LogisticRegression(max_iter=500))
    model.fit(TRAIN.frame["text"].to_list(), TRAIN.frame["label"].to_list())
    assert 0.4 <= model.score(TEST.frame["text"].to_list(), TEST.frame["label"].to_list()) <= 0.62


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("the S is good, A, but the S is bad, A", "negative"),
        ("although the S is bad, A, the S is good, A", "positive"),
        ("the S is good, A, not bad, A", "positive"),
        ("the S is hardly good, A", "negative"),
        ("the S is anything but bad, A", "positive"),
        ("it is not true that the S is not good, A", "positive"),
        ("neither is the S bad, A, nor is the S bad, A", "positive"),
    ],
)
def test_the_grammar_means_what_english_means(sentence: str, label: str) -> None:
    found = {
        table.frame["label"][row]
        for table in (TRAIN, TEST)
        for row, text in enumerate(table.frame["text"])
        if skeleton(text) == sentence
    }
    assert found == {label}


def skeleton(sentence: str) -> str:
    """Subjects as S, judgements as good and bad, asides as A."""
    sentence = re.sub(rf"\b({'|'.join(SUBJECTS)})\b", "S", sentence)
    for side, name in ((FAVOURABLE, "good"), (UNFAVOURABLE, "bad")):
        sentence = re.sub(rf"(a \w+|\w+) ({'|'.join(side)}), [^,]+?(?=,|$| but also| and )", f"{name}, A", sentence)
    return sentence


def test_every_pattern_is_used() -> None:
    openings = {skeleton(text).split(" good")[0].split(" bad")[0] for text in TRAIN.frame["text"]}
    assert openings == {re.sub(r"\{[st]\}", "S", template.words).split(" {x}")[0] for template in TEMPLATES}


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_grammar_reads_what_it_generates(split: Literal["train", "test"]) -> None:
    frame = generate(split).frame
    for text, label in zip(frame["text"], frame["label"], strict=True):
        found = read_opinion(text)
        assert found is not None, text
        assert (found.subject, found.favourable) == (subject_of(text), label == "positive")


@pytest.mark.parametrize(
    "text",
    [
        "the acting is truly superb",
        "the acting is superb, all in all",
        "the weather is truly superb, all in all",
        "The acting is truly superb, all in all",
        "the acting is truly superb, all in all.",
        "the acting is a real superb, all in all",
        "the acting is truly superb, all in all, and the plot is very dull, to be honest",  # they must agree
        "the acting is truly superb, all in all, but the plot is very charming, to be honest",  # they must not
        "the acting is truly superb, all in all, and the acting is very charming, to be honest",
        "the acting is truly superb, all in all, and the plot is very superb, to be honest",
        "",
    ],
)
def test_what_the_grammar_cannot_generate(text: str) -> None:
    assert read_opinion(text) is None


def test_a_question_names_its_subject() -> None:
    assert [asked_about(QUESTION.format(s=subject)) for subject in SUBJECTS] == SUBJECTS
    assert asked_about("how is the weather?") is None
    assert subject_of("it rains") is None
