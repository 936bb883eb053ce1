"""The word vectors of the body reader: whether they know the texts, and whether they are continued on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from glassformer.data.documents import Documents
from glassformer.data.wording import counted
from glassformer.errors import UsageError
from glassformer.models.model_config import OWN_BODY, ModelConfig
from glassformer.readers.body.fitting import LEAST_KNOWN, LOOKED_AT, fit_body, share_known
from glassformer.readers.body.learning import BodySettings, learn_body
from glassformer.readers.body.reader import BodyReader, Origin
from glassformer.readers.body.vectors import Body
from glassformer.readers.joining import READ, STRANGE
from glassformer.readers.linear import losses_at_best
from glassformer.readers.reader import FittedReader, Fold, Rows
from glassformer.training.loop import Observer
from glassformer.training.preparation import Prepared

_MIN_COUNT = 2
_SECONDS = 5  # between two messages
_CLEARLY = 2.33  # standard errors, of the sum of differences of losses: 99%, one-sided


def is_strange(prepared: Prepared, body: Body, observer: Observer) -> bool:
    """Whether the texts are in another language than a body that nobody named. Say what becomes of a strange one."""
    model, own = prepared.recipe.model, prepared.own_texts
    assert isinstance(model, ModelConfig)  # others have no body
    texts = prepared.splits.train.frame["text"].head(LOOKED_AT).to_list()
    if (known := share_known(body, texts)) >= LEAST_KNOWN:
        return False
    named = model.body != "auto"
    if named:
        so = "; is it of another language? It is used, as you named it"
    elif own is None or not own.for_body:
        so = ", so it is left out"
    else:
        so = ", so it is not used; word vectors of these texts are learned instead"
    observer.on_message(f"the body `{body.card.name}` knows {known:.0%} of the words of these texts{so}")
    return not named


def body_reader(
    prepared: Prepared, base: Body | None, rows: Rows, folds: Sequence[Fold], observer: Observer
) -> FittedReader:
    """Fit the body reader.

    With unlabelled texts, its vectors are continued on them, unless held-out rows are answered clearly better without.
    The burden of proof is on leaving them out: continued vectors were no worse on 48 of 58 samples of five tables, and
    a few rows say little.
    """
    began, body = time.perf_counter(), _own_body(prepared, base, observer)
    found = fit_body(body, rows, folds)
    if base is not None and body is not base:
        without = fit_body(base, rows, folds)
        held_out = replace(rows, texts=()).take(np.concatenate([fold.held_out for fold in folds]))
        more = losses_at_best(held_out, found.held_out) - losses_at_best(held_out, without.held_out)
        if more.sum() > _CLEARLY * len(more) ** 0.5 * more.std():
            observer.on_message(
                f"word vectors: {base.card.name} answers {counted(len(more), 'held-out row')} clearly better as it was "
                "than continued on these texts, so it stays as it was"
            )
            body, found = base, without
    odds = _odds(base, body, rows.texts[:LOOKED_AT])
    origin: Origin = "own" if base is None else "given" if body is base else "continued"
    return replace(found, reader=replace(found.reader, origin=origin), seconds=time.perf_counter() - began, odds=odds)


def _odds(base: Body | None, body: Body, texts: Sequence[str]) -> float | None:
    """Return the odds that the body knows something of the rows. None if it has read no more than these texts."""
    if base is None:
        return None
    if share_known(base, texts) >= LEAST_KNOWN:
        return READ
    return STRANGE if body is base else None


def has_own_vectors(fitted: Mapping[str, FittedReader]) -> bool:
    """Whether the word vectors of the body reader are those of the run's own texts, or were continued on them."""
    reader = fitted.get("body")
    return reader is not None and isinstance(reader.reader, BodyReader) and reader.reader.origin != "given"


def _own_body(prepared: Prepared, base: Body | None, observer: Observer) -> Body:
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
    try:
        return learn_body(
            OWN_BODY if base is None else base.card.name,
            sources,
            BodySettings(min_count=_MIN_COUNT, seed=prepared.recipe.training.seed),
            _now_and_then(observer.on_message),
            base=base,
            few=True,
            work=work,
        )
    except UsageError as error:
        raise UsageError(f"{error.message}, or train without word vectors: `model.body=none`") from error


def _now_and_then(tell: Callable[[str], None]) -> Callable[[str], None]:
    told = time.perf_counter()

    def progress(text: str) -> None:
        nonlocal told
        if time.perf_counter() - told >= _SECONDS:
            told = time.perf_counter()
            tell(text)

    return progress
