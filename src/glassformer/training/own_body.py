"""The body of a run: word vectors that are continued on its own texts, or learned from them alone."""

from __future__ import annotations

import time
from collections.abc import Callable

from glassformer.data.documents import Documents
from glassformer.models.model_config import OWN_BODY
from glassformer.readers.body.learning import BodySettings, learn_body
from glassformer.readers.body.vectors import Body
from glassformer.training.loop import Observer
from glassformer.training.preparation import Prepared

_MIN_COUNT = 2
_SECONDS = 5  # between two messages


def own_body(prepared: Prepared, base: Body | None, observer: Observer) -> Body:
    """Return the body that the body reader is fitted with.

    With a work folder, words that were counted before an interruption are not counted again.

    Args:
        base: the body that the recipe names. None: the vectors are those of the run's own texts alone.

    Raises:
        UsageError: the texts hold too few words.
    """
    own = prepared.own_texts
    if own is None or not own.for_body:
        assert base is not None
        return base
    doing = "learning word vectors from" if base is None else f"continuing the word vectors of {base.card.name} on"
    observer.on_message(f"{doing} {own.in_words}")
    sources = [Documents(texts=own.training, source=prepared.splits.train.source)]
    if own.unlabelled.sources:
        sources.append(Documents(texts=own.unlabelled.texts, source=" and ".join(own.unlabelled.sources)))
    work = None if prepared.work is None else prepared.work / "vectors"
    if work is not None:
        work.mkdir(exist_ok=True)
    return learn_body(
        OWN_BODY if base is None else base.card.name,
        sources,
        BodySettings(min_count=_MIN_COUNT, seed=prepared.recipe.training.seed),
        _now_and_then(observer.on_message),
        base=base,
        few=True,
        work=work,
    )


def _now_and_then(tell: Callable[[str], None]) -> Callable[[str], None]:
    told = time.perf_counter()

    def progress(text: str) -> None:
        nonlocal told
        if time.perf_counter() - told >= _SECONDS:
            told = time.perf_counter()
            tell(text)

    return progress
