"""Teach a trained model words from their definitions, as a new model. The old model does not change."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic

from glassformer.data.files import check_link, is_empty
from glassformer.data.locks import only_writer
from glassformer.errors import UsageError
from glassformer.models.language_model import LanguageModel
from glassformer.prediction.folder_config import NewWord
from glassformer.prediction.model_folder import TrainedLanguageModel, TrainedModel, save_model
from glassformer.words.dictionary import Dictionary
from glassformer.words.embed import WordSpace, embed_words, map_of, nearest_words
from glassformer.words.embedding_map import MapReport
from glassformer.words.learners import Learner, context_vectors, enlarged, trunk_of

GIVEN = "given"
DEPTH = 2
_NEAREST = 5
_TITLE = "## Words learned after training"
_ADDED = (
    "The model was trained without these words. Their embeddings were made from definitions. Everything above, the "
    "size of the vocabulary included, describes the model before it learned them."
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A word to learn, as the user writes it. If it has no definition, the dictionary is asked for one."""

    word: str
    definition: str | None = None


@dataclass(frozen=True, kw_only=True)
class LearnedWord:
    """A word that was learned.

    Attributes:
        nearest: the known words whose embeddings have the largest cosine to its own, with the cosines.
        in_pieces: words of the definition that the vocabulary cuts into pieces. Pieces carry little of a word's
            meaning.
    """

    new: NewWord
    nearest: list[tuple[str, float]]
    unknown: tuple[str, ...]
    in_pieces: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Lesson(Generic[Learner]):
    """The result of learning words.

    Attributes:
        map: how well the map predicts embeddings; None if averages were used instead of a map.
    """

    trained: Learner
    words: list[LearnedWord]
    left_out: dict[str, str]
    map: MapReport | None


def learn_words(
    trained: Learner, entries: Sequence[Entry], dictionary: Dictionary | None = None, *, depth: int = DEPTH
) -> Lesson[Learner]:
    """Make embeddings for words from their definitions. `trained` itself does not change.

    A map is fitted on the known words that `dictionary` defines. Without a dictionary, or if it defines too few of
    them, a new word gets the average of the embeddings of its definition's words.

    Args:
        depth: how many times unknown words in definitions are looked up (see `in_layers`).

    Raises:
        UsageError: the model cannot learn words (see `trunk_of`), or none of the words can be learned.
    """
    space = word_space(trained)
    wanted, left_out = _wanted(space, entries, dictionary)
    fitted = None if dictionary is None or not wanted else map_of(space, dictionary)
    definitions = {word: new.definition for word, new in wanted.items()}
    found = embed_words(space, definitions, dictionary, fitted, depth=depth)
    nothing = "no word of its definition is known" + (
        "" if dictionary is not None else "; name a dictionary with `dictionary=` to look them up"
    )
    left_out |= {word: nothing for word in wanted if word not in found}
    if not found:
        reasons = "; ".join(f"{word!r}: {reason}" for word, reason in left_out.items())
        raise UsageError(f"there is no word to learn ({reasons})")
    method = "average" if fitted is None else "map"
    added = [wanted[word].model_copy(update={"method": method}) for word in found]
    vectors = {word: embedded.vector for word, embedded in found.items()}
    larger = space.with_words(vectors)
    near = nearest_words(space, list(vectors.values()), count=_NEAREST)
    return Lesson(
        trained=enlarged(trained, larger.tokenizer, larger.embeddings, added),
        words=[
            LearnedWord(
                new=new,
                nearest=of_it,
                unknown=found[new.word].unknown,
                in_pieces=tuple(space.tokenizer.words_in_pieces(new.definition)),
            )
            for new, of_it in zip(added, near, strict=True)
        ],
        left_out=left_out,
        map=None if fitted is None else fitted.report,
    )


def word_space(trained: TrainedModel | TrainedLanguageModel) -> WordSpace:
    """Return the word space of a classifier or language model.

    Raises:
        UsageError: the model cannot learn words (see `trunk_of`).
    """
    trunk = trunk_of(trained)
    return WordSpace(
        tokenizer=trained.tokenizer,
        embeddings=trunk.get_parameter("embedding.weight").detach(),
        read=partial(context_vectors, trunk, max_seq_len=trained.config.model.max_seq_len),
        learned=frozenset(new.word for new in trained.config.new_words),
        predicts=isinstance(trained.model, LanguageModel),
    )


def check_new(out: Path) -> None:
    """Check that `out` is free.

    Raises:
        UsageError: `out` is a file, a link that leads nowhere, or a folder that is not empty.
    """
    check_link(out)
    if out.exists() and (not out.is_dir() or not is_empty(out)):
        raise UsageError(f"{out} exists already and is never overwritten; choose another `out=`")


def save_lesson(lesson: Lesson[Learner], out: Path, *, card: str) -> None:
    """Write the new model folder.

    Args:
        card: the model card of the old model. The new card adds the words that were learned.

    Raises:
        UsageError: `out` is a file or a folder that is not empty.
    """
    check_new(out)
    learned = [word.new for word in lesson.words]
    lines = [f"- {new.word} ({new.source}, {new.method}): {new.definition}\n" for new in learned]
    title = "" if _TITLE in card else f"\n{_TITLE}\n\n{_ADDED}\n\n"
    with only_writer(out):
        check_new(out)
        save_model(out, lesson.trained, card=card + title + "".join(lines))


def _wanted(
    space: WordSpace, entries: Sequence[Entry], dictionary: Dictionary | None
) -> tuple[dict[str, NewWord], dict[str, str]]:
    """Return the words that can be learned, by their spelling in the vocabulary, and why the others cannot."""
    left_out = space.tokenizer.refusals([entry.word for entry in entries])
    wanted: dict[str, NewWord] = {}
    for entry in entries:
        spelled = space.tokenizer.normalised(entry.word)
        definition, source = entry.definition, GIVEN
        if definition is None and dictionary is not None:
            definition, source = dictionary.define(entry.word), dictionary.name
        if entry.word in left_out:
            continue
        if not definition:
            left_out[entry.word] = "it has no definition" + ("" if dictionary is None else f" in {dictionary.name}")
        elif spelled in wanted:
            left_out[entry.word] = "it is named twice; the first definition is used"
        else:
            wanted[spelled] = NewWord(word=spelled, definition=definition, source=source, method="average")
    return wanted, left_out
