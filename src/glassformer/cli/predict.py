"""`glassformer predict`: answer texts, a table or a pipe."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.hints import check_order
from glassformer.cli.options import Asking, Encoding, Model, Query, SafeCsv, TextColumn
from glassformer.cli.output import doing, print_json, say, show
from glassformer.cli.pace import Pace, size_of_file, size_of_rows
from glassformer.cli.predict_shards import Workers, predict_shards
from glassformer.cli.rows_to_answer import (
    TEXT_IS_A_COLUMN,
    Misread,
    check_has_columns,
    check_holds_tables,
    given_rows,
    table_file,
    table_in_batches,
    text_batches,
)
from glassformer.cli.there import text_file
from glassformer.cli.unknown import (
    Marked,
    counts_of,
    is_punctuation,
    most_given,
    note_what_is_not_kept,
    review_below,
    say_needs_review,
    warn_of_unknown,
    warn_of_unlike,
)
from glassformer.cli.writers import Style, check_out, text_lines, write_answers, write_lines
from glassformer.data.wording import counted
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.prediction.answering import Answering
    from glassformer.targets.answers import Answers

_FEW, _PLAIN = 64 << 10, (".csv", ".tsv", ".jsonl")
"""So many characters are answered sooner without PyTorch: NumPy takes up to twice as long for a text. Tables of other
formats are compressed."""


def predict(
    model: Model,
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="The texts. Without any, or with -, standard input is read: one text per line."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            help="A table of texts, or a folder of tables (shards). - reads a CSV or JSON lines from standard input."
        ),
    ] = None,
    encoding: Encoding = None,
    query: Query = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file for the answers to --file. Its extension sets the format: .xlsx, or .csv, .tsv (tabs) "
            "or .jsonl (also with .gz). Default: CSV on standard output. For a folder of shards: a folder for answers."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file in --out, or all answers in that folder.")
    ] = False,
    text: TextColumn = None,
    top_k: Annotated[
        int | None,
        typer.Option(min=1, metavar="<int>", help="Show only this many most probable labels per text. Default: all."),
    ] = None,
    automatic: Annotated[
        float | None,
        typer.Option(
            metavar="<share>",
            help="Give this share of the answers automatically, such as 0.9. Add needs_review: true for answers less "
            "sure than this share of held-out rows.",
        ),
    ] = None,
    safe_csv: SafeCsv = None,
    *,
    by: Workers,
    run: Asking,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one line of JSON per text on standard output.")] = False,
) -> None:
    """Predict the labels of texts with probabilities, or their numbers with intervals."""
    texts = None if texts == ["-"] else texts
    if texts:
        check_order(model, texts[0], option="--file ")
    table = table_file(file, query, encoding, typed=bool(texts))
    _check(model, texts, table, out, text, top_k, overwrite=overwrite, safe_csv=safe_csv, json=run.json, jsonl=jsonl)
    by.check(folder=_is_folder(table))
    if table is not None and out is not None and _is_folder(table):
        asked: dict[str, Any] = {"text": text, "automatic": automatic, "device": run.device, "safe_csv": safe_csv}
        predict_shards(model, table, out, by=by, overwrite=overwrite, json=run.json, **asked)
        return
    style: Style = "json" if run.json else "jsonl" if jsonl else "plain"
    from glassformer.prediction.load_answering import for_many, load_answering

    few = table is None or (table.suffix in _PLAIN and table.is_file() and table.stat().st_size <= _FEW)
    predictor = load_answering(model, device=run.device, answers="few" if few else "many")
    if top_k is not None:
        predictor.trained.config.target.check_labels("`top_k=`")
    below = review_below(predictor, automatic)
    asked = {} if below is None else {"review_below": below}
    if table is None:
        many = partial(for_many, predictor, model, device=run.device)
        _answer_texts(predictor, texts, top_k, style, asked, many=many)
    else:
        _answer_file(predictor, table, out, text, style, asked, safe_csv=safe_csv)
    if style == "plain":
        for note in predictor.notes:
            say(f"note: {note}")
        note_what_is_not_kept(predictor.trained.seen)


def _check(
    model: Path,
    texts: list[str] | None,
    file: Path | None,
    out: Path | None,
    text: str | None,
    top_k: int | None,
    *,
    overwrite: bool,
    safe_csv: bool | None,
    json: bool,
    jsonl: bool,
) -> None:
    """Refuse options that do not go together, before a model is loaded."""
    if texts and file:
        raise UsageError("give texts or --file, not both")
    if texts and "-" in texts:
        raise UsageError("- reads texts from standard input; give - or texts, not both")
    if file is None and text is not None:
        raise UsageError(TEXT_IS_A_COLUMN)
    if file is None and out is not None:
        raise UsageError("--out goes with --file; a text's answer is printed")
    if file is not None and top_k is not None:
        raise UsageError("--top-k goes with texts; the answers to a file hold the probability of every label")
    if jsonl and (json or out is not None):
        other = "--json, which prints one document" if json else "--out, whose ending says what is written"
        raise UsageError(f"--jsonl does not go with {other}; leave one out")
    text_file(file)
    if file is not None and file.is_file():
        check_has_columns(model, file)
    if file is not None and _is_folder(file):
        _check_folder_out(file, out)
        check_holds_tables(file)
        return
    if safe_csv and (file is None or jsonl or (json and out is None) or (out is not None and "json" in out.name)):
        raise UsageError("--safe-csv is for the answers to a file as CSV or TSV; leave it out")
    if out is not None:
        check_out(out, file, overwrite=overwrite)
    if overwrite and out is None:
        raise UsageError("--overwrite goes with --out; leave it out")
    if not texts and file is None and sys.stdin.isatty():
        raise UsageError("nothing to answer: give a text, --file TABLE, or pipe one text per line")


def _check_folder_out(file: Path, out: Path | None) -> None:
    """Refuse to answer a folder without a folder for the answers, or into one with the name of a file."""
    from glassformer.data.formats.all_formats import EXTENSIONS

    if out is None:
        raise UsageError(f"{file} is a folder; name a folder for the answers to its tables with --out")
    if out.suffix.lower() in EXTENSIONS and not out.is_dir():  # an earlier run may have made it
        raise UsageError(
            f"--out {out}: {file} is a folder, and each table in it gets a file of answers; name a folder for them, "
            f"without {out.suffix}"
        )


def _is_folder(file: Path | None) -> bool:
    return file is not None and file.is_dir()


def _answer_texts(
    predictor: Answering,
    texts: list[str] | None,
    top_k: int | None,
    style: Style,
    asked: dict[str, Any],
    *,
    many: Callable[[], Answering],
) -> None:
    """Answer texts in batches. Those of a pipe are answered as they arrive.

    Args:
        many: returns what answers the rest of many texts.
    """
    from glassformer.data.inputs import shown

    batches = text_batches(texts)
    told, pace, misread = _Told("text"), Pace("texts"), Misread("text")
    left = _FEW  # characters for the predictor
    doing("")  # show nothing while a pipe is silent
    with write_lines(style) as write:
        for batch in batches:
            pace.begin()
            if left >= 0 > (left := left - sum(map(len, batch))):
                predictor = many()
            rows, composed = given_rows(predictor, batch, misread)
            answers = predictor.answer(composed, on_progress=pace.on_progress, **asked)
            if style == "plain":
                write(text_lines(answers, [shown(text) for text in composed], top_k))
            else:
                write(answers.lines(rows, top_k))
            told.add(answers, composed)
            pace.end(len(batch))
        if not told.rows:
            raise UsageError("nothing to answer: the pipe was empty")
    told.warn()


def _answer_file(
    predictor: Answering,
    file: Path,
    out: Path | None,
    text: str | None,
    style: Style,
    asked: dict[str, Any],
    *,
    safe_csv: bool | None,
) -> None:
    """Answer a table in batches. A file is written completely or not at all."""
    frames, texts_of, like = table_in_batches(predictor, file, text)
    told, total = _Told("row"), size_of_file(file)
    pace = Pace("rows", total)
    with write_answers(out, style, table=file, like=like, safe=safe_csv) as write:
        for frame in frames:
            pace.begin(size_of_rows(frame, file) if total else 0)
            batch = texts_of(frame)
            answers = predictor.answer(batch, on_progress=pace.on_progress, **asked)
            write(frame, answers)
            told.add(answers, batch)
            pace.end(frame.height)
    told.warn()
    if out is None:
        return
    if style == "json":
        predictions = told.given if predictor.trained.config.target.counted else None
        print_json({"out": str(out), **counts_of(told.rows, told.empty, told.needs_review, predictions)})
    else:
        answered = f"{told.rows - told.empty:,} of " if told.empty else ""
        show(f"{out}: {answered}{counted(told.rows, 'row')} answered{most_given(told.given)}")


class _Told:
    """Counts over all answers: the rows, the labels, the texts without words, and the unknown words."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.rows = 0
        self._empty, self._wordless, self._unlike = Marked(), Marked(), Marked()
        self.needs_review: int | None = None
        self.given: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()

    def add(self, answers: Answers, texts: Sequence[str]) -> None:
        from glassformer.data.inputs import without_columns

        wordless = [is_punctuation(without_columns(text)) for text in texts]
        for marked, which in ((self._empty, answers.empty), (self._unlike, answers.unlike), (self._wordless, wordless)):
            if which is not None:
                marked.add(which, after=self.rows)
        if (review := answers.needs_review) is not None:
            self.needs_review = (self.needs_review or 0) + int((review & ~answers.empty).sum())
        self.rows += len(answers.empty)
        self.given.update(answers.counts())
        self._unknown.update(answers.unknown)

    @property
    def empty(self) -> int:
        """The texts that got no answer."""
        return self._empty.count

    def warn(self) -> None:
        """Warn of unknown words, of texts unlike the training data, of punctuation only, and of empty texts."""
        warn_of_unknown(self._unknown)
        punctuation = (
            "holds punctuation only; the answer means little",
            "hold punctuation only; such answers mean little",
        )
        empty = ("is empty and gets no answer", "are empty and get no answer")
        if self.unit == "row":
            empty = ("has an empty text and gets no answer", "have an empty text and get no answer")
        warn_of_unlike(self._unlike, self.rows, self.unit)
        self._wordless.warn(self.rows, self.unit, punctuation)
        self._empty.warn(self.rows, self.unit, empty)
        if self.needs_review is not None:
            say_needs_review(self.needs_review, self.rows, self.unit)
