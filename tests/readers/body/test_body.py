"""Bodies: vectors of words and pieces, their files, and the reader that averages them."""

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from glassformer.data import arrays
from glassformer.data.arrays import mapping_in
from glassformer.data.documents import Documents
from glassformer.data.inputs import BEGIN, END, SEPARATOR, Inputs
from glassformer.data.model_marks import BODY_FILE
from glassformer.errors import GlassformerError, UsageError
from glassformer.readers.body import reader as body_reader
from glassformer.readers.body.fitting import fit_body, means_of, share_known
from glassformer.readers.body.learning import BodySettings, learn_body, learn_pieces, neighbours, read_words, surprise
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.body.vectors import VECTORS_FILE, Axis, Body, packed, pieces_of, unpacked
from glassformer.readers.counting import corpus
from glassformer.readers.counting.ngrams import words_of
from glassformer.readers.folds import folds_of
from glassformer.readers.linear import fit_head
from glassformer.readers.reader import Rows
from glassformer.training.objectives import cross_entropy
from tests.bodies import ENGLISH

FOOD, SPORT = ("bread", "cheese", "butter", "soup"), ("goal", "match", "team", "score")
SETTINGS = BodySettings(dims=4, window=8, min_count=2)


def sentences(count: int, seed: int) -> list[str]:
    """Texts about food or sport, in turn. Only the words that name things tell which."""
    draw = np.random.default_rng(seed)
    themes = [FOOD if number % 2 else SPORT for number in range(count)]
    return [f"we like the {' and the '.join(draw.choice(theme, 3))} today" for theme in themes]


def documents(texts: list[str], source: str = "texts.txt") -> Documents:
    return Documents(texts=pl.Series(texts), source=source)


@pytest.fixture(scope="module")
def body() -> Body:
    return learn_body("small", [documents(sentences(600, 0))], SETTINGS, lambda _: None)


def rows_of(texts: list[str], labels: list[int], inputs: Inputs | None = None) -> Rows:
    return Rows(
        texts=texts,
        truth=np.array(labels),
        width=2,
        weights=np.ones(len(texts), np.float32),
        loss=partial(cross_entropy, class_weights=torch.ones(2), label_smoothing=0.0),
        inputs=inputs,
        seed=0,
    )


def test_words_of_one_theme_are_near_each_other(body: Body) -> None:
    for theme in (FOOD, SPORT):
        assert {word for word, _ in body.nearest(theme[0], 3)} == set(theme[1:])


def test_an_unknown_word_is_like_known_ones_of_the_same_pieces(body: Body) -> None:
    """Its ending is new, and its stem decides: the vectors of known words are those of their stems."""
    endings = ("er", "ed", "s", "ing", "y", "ish", "able", "less", "ful", "like")
    words = tuple(f"{stem}{ending}" for stem in ("walk", "glow") for ending in endings)
    vectors = np.repeat(np.eye(2, dtype=np.float32), len(endings), axis=0)
    pieces, piece_vectors = learn_pieces(words, vectors)
    shares = np.full(len(words), 0.01, np.float32)
    learned = replace(body, words=words, shares=shares, vectors=vectors, pieces=pieces, piece_vectors=piece_vectors)
    found, weights = learned.of_words(["walkathon", "glowworm", "?!", "xyz"])
    assert weights.tolist() == [1, 1, 0, 0]
    for stem in (0, 1):
        assert found[stem, stem] > 2 * abs(found[stem, 1 - stem])
    assert not found[2:].any()


def test_information_of_neighbours_by_hand() -> None:
    """`a b` twice and `c d` once, as texts of their own: each word has one neighbour, whose share is known."""
    settings = BodySettings(dims=2, window=1, min_count=1)
    stream = read_words([documents(["a b", "a b", "c d"])], settings, lambda _: None)
    assert stream.words == ("a", "b", "c", "d")
    assert stream.read == 6
    near = neighbours(stream, 1, lambda _: None)
    counted = near.toarray()
    assert counted[0, 1] == counted[1, 0]
    assert np.count_nonzero(counted) == 4  # nothing reaches over the end of a text
    sums = counted.sum(axis=1)
    smoothed = sums**0.75 / (sums**0.75).sum()
    assert np.allclose(surprise(near).toarray()[0, 1], np.log(1 / smoothed[1]), rtol=1e-5)


def test_neighbours_do_not_depend_on_how_many_words_are_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = read_words([documents(sentences(50, 1))], SETTINGS, lambda _: None)
    whole = neighbours(stream, 3, lambda _: None).toarray()
    for at_once in (1, 7, 40):
        monkeypatch.setattr("glassformer.readers.body.learning._WORDS_AT_ONCE", at_once)
        assert np.allclose(neighbours(stream, 3, lambda _: None).toarray(), whole, rtol=1e-5)


def test_the_same_texts_and_seed_give_the_same_bits(body: Body) -> None:
    again = learn_body("small", [documents(sentences(600, 0))], SETTINGS, lambda _: None)
    assert np.array_equal(again.vectors, body.vectors)
    assert np.array_equal(again.piece_vectors, body.piece_vectors)


def test_what_was_counted_is_not_counted_again(tmp_path: Path, body: Body) -> None:
    def stop(doing: str) -> None:
        if doing == "finding vectors":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_body("small", [documents(sentences(600, 0))], SETTINGS, stop, work=tmp_path)
    done: list[str] = []
    again = learn_body("small", [documents(sentences(600, 0))], SETTINGS, done.append, work=tmp_path)
    assert done == ["finding vectors", "finding vectors of pieces of words"]
    assert np.array_equal(again.vectors, body.vectors)


def test_too_few_words_are_refused() -> None:
    with pytest.raises(UsageError, match="the texts hold 2 words that occur 8 times or more, too few for vectors"):
        learn_body("small", [documents(["a b"] * 9)], BodySettings(), lambda _: None)
    with pytest.raises(UsageError, match="no two words stand near each other"):
        learn_body("small", [documents(["alone", "only", "single"] * 9)], BodySettings(), lambda _: None)
    few = learn_body("small", [documents(["a b c"] * 9)], BodySettings(), lambda _: None)
    assert few.dims == few.card.dims == 2


def test_a_body_that_is_continued_learns_new_words_and_keeps_the_others(body: Body) -> None:
    """`puck` stands where words of sport do. `cheese` is not in the new texts."""
    new = [text.replace("goal", "puck") for text in sentences(300, 5) if "cheese" not in text]
    more = learn_body("more", [documents(new, "new.txt")], SETTINGS, lambda _: None, base=body)
    assert set(more.words) == {*body.words, "puck"}
    assert (more.dims, more.pieces, more.card.base, more.card.sources) == (4, body.pieces, "small", ("new.txt",))
    assert np.array_equal(more.vectors[more.index["cheese"]], body.vectors[body.index["cheese"]])
    assert {word for word, _ in more.nearest("puck", 3)} < set(SPORT)
    assert {word for word, _ in more.nearest("cheese", 3)} == set(FOOD) - {"cheese"}
    assert np.allclose(np.linalg.norm(more.vectors, axis=1), 1, atol=1e-5)
    assert (np.diff(more.shares) <= 0).all()
    assert more.shares[more.index["puck"]] == pytest.approx(sum("puck" in text.split() for text in new) / 1e6, rel=0.7)
    again = learn_body("more", [documents(new, "new.txt")], SETTINGS, lambda _: None, base=body)
    assert np.array_equal(more.vectors, again.vectors)
    assert again.words == more.words


def test_the_more_often_new_texts_hold_a_word_the_less_its_old_vector_counts(body: Body) -> None:
    """In the new texts, `match` is something to eat."""

    def cosine(count: int) -> float:
        new = [text.replace("cheese", "match") for text in sentences(count, 6) if not set(SPORT) & set(text.split())]
        more = learn_body("more", [documents(new)], SETTINGS, lambda _: None, base=body)
        return float(more.vectors[more.index["match"]] @ more.vectors[more.index["bread"]])

    assert cosine(20) < cosine(200) < cosine(2_000)
    assert cosine(2_000) > 0.9


def test_a_body_continued_in_another_language_has_the_vectors_of_the_texts(body: Body) -> None:
    new = [" ".join(f"{word}xyz" for word in text.split()) for text in sentences(600, 0)]
    more = learn_body("more", [documents(new)], SETTINGS, lambda _: None, base=replace(body, pieces=()))
    assert {word for word, _ in more.nearest("breadxyz", 3)} == {f"{word}xyz" for word in FOOD[1:]}


def test_the_names_of_labels_are_texts_of_these_labels(body: Body) -> None:
    texts = ["we like", "we like"] * 8  # which say nothing
    rows = replace(rows_of(texts, [0, 1] * 8), labels=(FOOD[0], f"{SPORT[0]}_7"))
    named = fit_body(body, rows, folds_of(rows.truth, seed=0))
    assert named.held_out.shape == (16, 2)  # the names are not held out
    margins = np.diff(named.reader.scores([" ".join(FOOD[1:]), " ".join(SPORT[1:])]))[:, 0]
    assert margins[0] < 0 < margins[1]
    numbered = fit_body(body, replace(rows, labels=("0", "1")), folds_of(rows.truth, seed=0))
    assert np.array_equal(
        numbered.held_out, fit_body(body, rows_of(texts, [0, 1] * 8), folds_of(rows.truth, seed=0)).held_out
    )


def test_four_bits_keep_the_order_of_numbers() -> None:
    values = np.array([[-0.7, 0.1, 0.7], [0, 0, 0]], np.float32)
    codes, scales = packed(values)
    assert codes.shape == (2, 2)
    assert np.allclose(unpacked(codes, 3) * scales.astype(np.float32)[:, None], values, atol=1e-3)


def test_a_body_is_read_as_it_was_written(tmp_path: Path, body: Body) -> None:
    body.save(tmp_path)
    first = Body.load(tmp_path)
    assert (first.words, first.pieces, first.card) == (body.words, body.pieces, body.card)
    assert (first.vectors * body.vectors).sum(axis=1).min() > 0.95
    again = tmp_path / "again"
    again.mkdir()
    first.save(again)
    assert len({path.stat().st_mode for path in again.iterdir()}) == 1, "whoever reads one reads all"
    assert np.array_equal(Body.load(again).vectors, first.vectors)


@pytest.mark.parametrize("damage", ["no body", "cut short", "not JSON", "a word twice"])
def test_a_damaged_body_is_refused(tmp_path: Path, body: Body, damage: str) -> None:
    body.save(tmp_path)
    if damage == "no body":
        (tmp_path / BODY_FILE).unlink()
    elif damage == "cut short":
        (tmp_path / VECTORS_FILE).write_bytes((tmp_path / VECTORS_FILE).read_bytes()[:-9])
    elif damage == "not JSON":
        (tmp_path / BODY_FILE).write_text("{")
    else:
        words = (tmp_path / "words.txt").read_text().split("\n")
        (tmp_path / "words.txt").write_text("\n".join([words[1], *words[1:]]))
    with pytest.raises(
        GlassformerError, match="embeddings" if damage == "no body" else "damaged|copy the folder again"
    ):
        Body.load(tmp_path)


def test_pieces_are_within_a_word() -> None:
    assert pieces_of("cat") == ["<ca", "cat", "at>", "<cat", "cat>"]
    assert pieces_of("7!") == []


def test_the_share_of_known_words_counts_rare_ones_more(body: Body) -> None:
    """As in the mean of a text. Of several texts in a row, each counts; columns do not."""
    weight = dict(zip(body.words, body.weights.tolist(), strict=True))
    known = weight["bread"] + 2 * weight["the"]
    assert share_known(body, ["the bread the zorb"]) == pytest.approx(known / (known + 1))
    other = f"{BEGIN}shop=zorb{END}the bread{SEPARATOR}the zorb"
    assert share_known(body, [other]) == pytest.approx(known / (known + 1))
    assert weight["bread"] > weight["the"]
    assert (share_known(body, ["zorb"]), share_known(body, []), share_known(body, ["bread"])) == (0, 0, 1)


def test_the_reader_knows_words_that_it_has_not_learned(body: Body) -> None:
    """It learns one word of each theme, and answers by the others."""
    texts, labels = ["the bread", "the goal"] * 8, [0, 1] * 8
    rows = rows_of(texts, labels)
    fitted = fit_body(body, rows, folds_of(rows.truth, seed=0))
    assert fitted.held_out.shape == (16, 2)
    answers = fitted.reader.scores([f"the {word}" for word in (*FOOD[1:], *SPORT[1:])]).argmax(axis=1)
    assert answers.tolist() == [0, 0, 0, 1, 1, 1]


PRAISE = ["admirable", "cosy", "cheerful", "clever", "graceful", "generous", "radiant", "tasty", "thrilling", "witty"]
BLAME = ["dreary", "filthy", "foolish", "gloomy", "greedy", "hideous", "rotten", "rude", "sloppy", "ugly"]


def test_a_few_rows_teach_it_to_judge() -> None:
    """It learns two words of each kind, among others, and answers by more that are at no end of the axis."""
    body, draw = Body.load(ENGLISH), np.random.default_rng(0)
    plain = replace(body, card=body.card.model_copy(update={"axes": ()}))
    (axis,) = body.card.axes
    words = [word for word in (*PRAISE, *BLAME) if word not in (*axis.low, *axis.high)]

    def about(words: Sequence[str]) -> list[str]:
        things = draw.choice(
            ["lamp", "hotel", "chapter", "engine", "river", "senate", "violin", "soup"], (len(words), 3)
        )
        return [f"the {word} {' and the '.join(three)}" for word, three in zip(words, things, strict=True)]

    asked, truth = about(words), np.array([word in BLAME for word in words])
    right = dict[bool, list[float]]()
    for one in range(0, 10, 2):
        rows = rows_of(about([*PRAISE[one : one + 2], *BLAME[one : one + 2]]), [0, 0, 1, 1])
        for known in (body, plain):
            answers = fit_body(known, rows, folds_of(rows.truth, seed=0)).reader.scores(asked).argmax(axis=1)
            right.setdefault(known is body, []).append(float((answers == truth).mean()))
    with_axis, without = (float(np.mean(right[known])) for known in (True, False))
    assert with_axis > max(0.8, without + 0.1)


def test_vectors_are_stretched_along_axes_and_weights_are_for_vectors_as_they_are() -> None:
    body, texts = Body.load(ENGLISH), [f"the {word} hotel" for word in (*PRAISE, *BLAME)]
    rows, stretch = rows_of(texts, [0] * 10 + [1] * 10), body.stretch
    assert stretch is not None
    longer = np.linalg.eigvalsh(stretch @ stretch.T)
    assert longer[:-1] == pytest.approx(1, abs=1e-4), "along one direction alone"
    assert longer[-1] > 5
    vectors, folds = means_of(body, texts, 1), folds_of(rows.truth, seed=0)
    head, held_out = fit_head(vectors, rows, folds)
    found = fit_body(body, rows, folds)
    np.testing.assert_array_equal(found.held_out, held_out)
    np.testing.assert_allclose(found.reader.scores(texts), head.scores(vectors), atol=0.02)  # it is written in 16 bits


def test_an_axis_needs_words_that_the_body_knows(body: Body) -> None:
    def with_axis(*ends: tuple[str, ...]) -> Body:
        axis = Axis(name="theme", low=ends[0], high=ends[1])
        return replace(body, card=body.card.model_copy(update={"axes": (axis,)}))

    assert body.stretch is None
    assert with_axis((*FOOD, "the"), (*SPORT, "zorb")).stretch is None
    assert with_axis((*FOOD, "the"), (*FOOD, "the")).stretch is None
    known = with_axis((*FOOD, "the"), (*SPORT, "we", "zorb"))
    assert known.stretch is not None
    more = learn_body("more", [documents(sentences(300, 3))], SETTINGS, lambda _: None, base=known)
    assert more.card.axes == known.card.axes


def test_large_arrays_in_files_give_the_same_reader(
    body: Body, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*sentences(60, 5), "breads zorb", ""]
    rows = replace(rows_of(texts, [0, 1] * 31), labels=("food", "the team"))
    folds = folds_of(rows.truth, seed=0)
    plain = fit_body(body, rows, folds)
    monkeypatch.setattr(arrays, "_MOST_IN_MEMORY", 0)
    monkeypatch.setattr(arrays, "_ROWS_AT_ONCE", 20)
    monkeypatch.setattr(corpus, "_WORDS_AT_ONCE", 90)
    with mapping_in(tmp_path):
        found = fit_body(body, rows, folds)
    np.testing.assert_array_equal(found.held_out, plain.held_out)
    np.testing.assert_array_equal(found.reader.scores(texts), plain.reader.scores(texts))
    (gone := tmp_path / "gone").mkdir()
    with mapping_in(gone):
        gone.rmdir()
        with pytest.raises(GlassformerError, match="nothing more can be written in"):
            fit_body(body, rows, folds)


def test_what_words_add_is_exact(body: Body) -> None:
    rows = rows_of(sentences(40, 2), [0, 1] * 20)
    reader = fit_body(body, rows, folds_of(rows.truth, seed=0)).reader
    for text in ("we like the soup", "zzz", "", "the the goal breads"):
        added = reader.of_words(words_of(text))
        assert np.allclose(added.sum(axis=0) + reader.bias, reader.scores([text])[0], atol=1e-5)
    assert np.array_equal(reader.scores(["zzz"])[0], reader.bias)
    assert reader.scores([]).shape == (0, 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", [0, 4])
def test_texts_of_unknown_words_give_a_reader_that_can_be_written(tmp_path: Path, seed: int) -> None:
    """The words have the same known pieces, so the means differ by rounding alone, and labels by chance."""
    body, draw = Body.load(ENGLISH), np.random.default_rng(seed)
    texts = [" ".join(f"zorb{draw.integers(40)}" for _ in range(6)) for _ in range(200)]
    rows = rows_of(texts, draw.integers(2, size=200).tolist())
    fit_body(body, rows, folds_of(rows.truth, seed=0)).reader.save(tmp_path)
    assert np.abs(BodyReader.load(tmp_path).scores(texts)).max() < 5


def test_each_text_of_a_row_has_a_mean_of_its_own(body: Body) -> None:
    """The label is the theme of the second text, whatever the first one is about."""
    inputs = Inputs(texts=("one", "other"), columns=())
    texts = [f"the {one}{SEPARATOR}the {other}" for one in ("bread", "goal") for other in ("bread", "goal")] * 5
    labels = [number % 2 for number in range(20)]
    rows = rows_of(texts, labels, inputs)
    reader = fit_body(body, rows, folds_of(rows.truth, seed=0)).reader
    assert reader.head.shape[0] == 2
    asked = [f"{BEGIN}shop=Berlin{END}the goal{SEPARATOR}the soup", f"the soup{SEPARATOR}the match"]
    assert reader.scores(asked).argmax(axis=1).tolist() == [0, 1]


def test_a_reader_that_has_answered_can_be_copied(body: Body) -> None:
    rows = rows_of(sentences(40, 2), [0, 1] * 20)
    reader = fit_body(body, rows, folds_of(rows.truth, seed=0)).reader
    before = reader.scores([*rows.texts, "zzz breads"])
    assert np.array_equal(pickle.loads(pickle.dumps(reader)).scores([*rows.texts, "zzz breads"]), before)


@pytest.mark.parametrize(
    ("written", "origin", "read"),
    [
        ("english", None, ("english", "given")),
        ("english, continued", None, ("english", "continued")),
        ("own", None, ("own", "own")),
        ("own", "given", ("own", "given")),
        ("mine, continued", "given", ("mine, continued", "given")),
    ],
)
def test_the_name_tells_the_origin_in_older_folders_alone(
    tmp_path: Path, body: Body, written: str, origin: str | None, read: tuple[str, str]
) -> None:
    rows = rows_of(sentences(40, 2), [0, 1] * 20)
    fit_body(body, rows, folds_of(rows.truth, seed=0)).reader.save(tmp_path)
    described = json.loads((tmp_path / "words.json").read_text()) | {"body": written, "origin": origin}
    (tmp_path / "words.json").write_text(
        json.dumps({name: each for name, each in described.items() if each is not None})
    )
    reader = BodyReader.load(tmp_path)
    assert (reader.body, reader.origin) == read


@pytest.mark.parametrize("many", [False, True])
def test_a_reader_is_read_as_it_was_written(tmp_path: Path, body: Body, many: bool) -> None:
    """With fewer outputs than dims, its file holds the scores of words, otherwise their vectors."""
    rows = rows_of(sentences(40, 2), [0, 1] * 20)
    if many:
        inputs = Inputs(texts=("one", "other"), columns=())
        rows = rows_of([f"{text}{SEPARATOR}{text}" for text in rows.texts], [0, 1] * 20, inputs)
    reader = fit_body(body, rows, folds_of(rows.truth, seed=0)).reader
    reader.save(tmp_path)
    assert np.array_equal(BodyReader.load(tmp_path).scores(rows.texts), reader.scores(rows.texts))
    described = json.loads((tmp_path / "words.json").read_text())
    assert described["origin"] == "given"
    (tmp_path / "words.json").write_text(json.dumps(described | {"words": described["words"][1:]}))
    with pytest.raises(GlassformerError, match="does not match"):
        BodyReader.load(tmp_path)


def test_scores_that_memory_does_not_hold_are_computed_word_by_word(
    body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(sentences(40, 2), [0, 1] * 20)
    fitted = fit_body(body, rows, folds_of(rows.truth, seed=0)).reader
    at_once = fitted.scores([*rows.texts, "zzz breads"])
    monkeypatch.setattr(body_reader, "_MOST_SCORES", 2 * 4)  # those of 4 words
    again = replace(fitted)
    assert np.allclose(again.scores([*rows.texts, "zzz breads"]), at_once, atol=1e-6)
    assert len(again._scores) == 4
