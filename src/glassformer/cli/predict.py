"""`glassformer predict`: answer texts, a table or a pipe."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast

import typer

from glassformer.cli.hints import check_order, is_file
from glassformer.cli.number import is_number_model, refuse
from glassformer.cli.number_predict import predict_numbers
from glassformer.cli.options import Device, Json, Model, Quiet, SafeCsv, TextColumn
from glassformer.cli.output import doing, human_count, hush, print_json, say, show
from glassformer.cli.pace import Pace, size_of_file, size_of_rows
from glassformer.cli.predict_shards import Workers, predict_shards
from glassformer.cli.review import review_below, say_needs_review
from glassformer.cli.unknown import Marked, is_punctuation, warn_of_unknown, warn_of_unlike
from glassformer.cli.writers import Style, check_out, text_lines, write_answers, write_lines
from glassformer.errors import UsageError

if TYPE_CHECKING:
    import io

    import polars as pl

    from glassformer.data.inputs import Inputs
    from glassformer.data.rows import Delimited
    from glassformer.prediction.answered_rows import TextsOf
    from glassformer.prediction.answering import Answering
    from glassformer.prediction.answers import Answers
    from glassformer.prediction.number import NumberPredictor

_ROWS_PER_BATCH = 4096


class KnowsItsColumn(Protocol):
    """What answers texts and knows the column of the training table that they came from."""

    @property
    def text_column(self) -> str | None: ...


def predict(
    model: Model,
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="The texts. Without any, or with -, standard input is read: one text per line."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help="A table of texts, or a folder of tables (shards). - reads a CSV or JSON lines from standard input."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file for the answers to --file. Its extension sets the format: .csv, .tsv (tabs) or .jsonl, "
            "each also with .gz. Default: CSV on standard output. For a folder of shards: the folder for the answers."
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
            help="Give this share of the answers automatically, such as 0.9. Add needs_review: whether the confidence "
            "of an answer is lower than that of so many held-out rows.",
        ),
    ] = None,
    safe_csv: SafeCsv = False,
    engine: Annotated[
        str | None, typer.Option(help="What answers a folder of shards: plain (default), one process; or ray.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="<int>", help="With Ray: how many shards at once. Default: one per core."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="With Ray: the address of a cluster. Default: Ray starts on this machine.")
    ] = None,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one line of JSON per text on standard output.")] = False,
) -> None:
    """Predict the labels of texts, with probabilities."""
    if quiet:
        hush()
    texts = None if texts == ["-"] else texts
    if texts:
        check_order(model, texts[0], option="--file ")
    _check(texts, file, out, text, top_k, overwrite=overwrite, safe_csv=safe_csv, json=json, jsonl=jsonl)
    by = Workers(engine=engine, workers=workers, address=address)
    by.check(folder=_is_folder(file))
    if file is not None and out is not None and _is_folder(file):
        asked: dict[str, Any] = {"text": text, "automatic": automatic, "device": device, "safe_csv": safe_csv}
        predict_shards(model, file, out, by=by, overwrite=overwrite, json=json, **asked)
        return
    style: Style = "json" if json else "jsonl" if jsonl else "plain"
    if is_number_model(model):
        refuse("predict", top_k=top_k, automatic=automatic)
        predict_numbers(model, texts, file, out, text, style, device, safe_csv=safe_csv)
        return
    from glassformer.prediction.load_answering import load_answering

    predictor = load_answering(model, device=device)
    below = review_below(predictor, automatic)
    if file is None:
        _answer_texts(predictor, texts, top_k, style, below)
    else:
        _answer_file(predictor, file, out, text, style, below, safe_csv=safe_csv)
    if style == "plain":
        _notes(predictor)


def _notes(predictor: Answering) -> None:
    """Say what the model does not do."""
    if predictor.trained.config.answers_by_counting:
        say("note: the model answers by counting alone")
    if predictor.trained.seen is None:
        say(
            "note: this model cannot tell which texts are unlike its training data: it was made by an older "
            "glassformer; train it again"
        )


def _check(
    texts: list[str] | None,
    file: Path | None,
    out: Path | None,
    text: str | None,
    top_k: int | None,
    *,
    overwrite: bool,
    safe_csv: bool,
    json: bool,
    jsonl: bool,
) -> None:
    """Refuse options that do not go together, before a model is loaded."""
    if texts and file:
        raise UsageError("give texts or --file, not both")
    if texts and "-" in texts:
        raise UsageError("- reads texts from standard input; give - or texts, not both")
    if file is None and (out is not None or text is not None):
        raise UsageError(f"--{'text' if out is None else 'out'} goes with --file; a text's answer is printed")
    if file is not None and top_k is not None:
        raise UsageError("--top-k goes with texts; the answers to a file hold the probability of every label")
    if jsonl and (json or out is not None):
        other = "--json, which prints one document" if json else "--out, whose ending says what is written"
        raise UsageError(f"--jsonl does not go with {other}; leave one out")
    if file is not None and file != Path("-") and not file.exists():
        from glassformer.data.rows import check_file

        check_file(file)  # it says what is near
    if _is_folder(file):
        if out is None:
            raise UsageError(f"{file} is a folder; name a folder for the answers to its tables with --out")
        return
    if safe_csv and (file is None or jsonl or (json and out is None) or (out is not None and "json" in out.name)):
        raise UsageError("--safe-csv is for the answers to a file as CSV or TSV; leave it out")
    if out is not None:
        check_out(out, file, overwrite=overwrite)
    if overwrite and out is None:
        raise UsageError("--overwrite goes with --out; leave it out")
    if not texts and file is None and sys.stdin.isatty():
        raise UsageError("nothing to answer: give a text, --file TABLE, or pipe one text per line")


def _is_folder(file: Path | None) -> bool:
    return file is not None and file.is_dir()


def _answer_texts(
    predictor: Answering, texts: list[str] | None, top_k: int | None, style: Style, below: float | None
) -> None:
    """Answer texts in batches. Those of a pipe are answered as they arrive."""
    from glassformer.data.inputs import shown
    from glassformer.data.pipe import arriving_lines
    from glassformer.data.tokenizers import batched

    if texts:
        for name in filter(is_file, texts):
            say(f"note: {name} is a file, but it was read as a text; --file {name} answers the rows of the file")
        batches: Iterator[list[str]] = batched(texts, _ROWS_PER_BATCH)
    else:
        batches = arriving_lines(cast("io.BufferedIOBase", sys.stdin.buffer), "standard input", most=_ROWS_PER_BATCH)
    told, pace = _Told("text"), Pace("texts")
    doing("")  # show nothing while a pipe is silent
    with write_lines(style) as write:
        for batch in batches:
            pace.begin()
            rows, composed = given_rows(predictor, batch)
            answers = predictor.answer(composed, on_progress=pace.on_progress, review_below=below)
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
    below: float | None,
    *,
    safe_csv: bool,
) -> None:
    """Answer a table in batches. A file is written completely or not at all."""
    from glassformer.data.wording import counted

    inputs = predictor.trained.config.inputs
    frames, texts_of, like = table_in_batches(predictor, file, text, rows=_ROWS_PER_BATCH, inputs=inputs)
    told, total = _Told("row"), size_of_file(file)
    pace = Pace("rows", total)
    with write_answers(out, style, table=file, like=like, safe=safe_csv) as write:
        for frame in frames:
            pace.begin(size_of_rows(frame, file) if total else 0)
            batch = texts_of(frame)
            answers = predictor.answer(batch, on_progress=pace.on_progress, review_below=below)
            write(frame, answers)
            told.add(answers, batch)
            pace.end(frame.height)
    told.warn()
    if out is None:
        return
    if style == "json":
        counts = {"rows": told.rows, "answered": told.rows - told.empty, "unanswered": told.empty}
        counts |= {} if told.needs_review is None else {"needs_review": told.needs_review}
        print_json({"out": str(out), **counts, "predictions": told.predictions()})
    else:
        shown = ", ".join(f"{label} {human_count(count)}" for label, count in list(told.predictions().items())[:10])
        answered = f"{told.rows - told.empty:,} of " if told.empty else ""
        show(f"{out}: {answered}{counted(told.rows, 'row')} answered" + (f" ({shown})" if shown else ""))


class _Told:
    """Counts over all answers: the rows, the labels, the texts without words, and the unknown words.

    Attributes:
        needs_review: how many answers need review. None if nobody asked.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.rows = 0
        self._empty, self._wordless, self._unlike = Marked(), Marked(), Marked()
        self.needs_review: int | None = None
        self._labels: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()

    def add(self, answers: Answers, texts: Sequence[str]) -> None:
        from glassformer.data.inputs import without_columns
        from glassformer.data.wording import label_cell

        wordless = [is_punctuation(without_columns(text)) for text in texts]
        for marked, which in ((self._empty, answers.empty), (self._unlike, answers.unlike), (self._wordless, wordless)):
            if which is not None:
                marked.add(which, after=self.rows)
        if (review := answers.needs_review) is not None:
            self.needs_review = (self.needs_review or 0) + int((review & ~answers.empty).sum())
        self.rows += len(answers.empty)
        self._labels.update(label_cell(label) for label in answers.predictions() if label is not None)
        self._unknown.update(answers.unknown)

    @property
    def empty(self) -> int:
        """The texts that got no answer."""
        return self._empty.count

    def predictions(self) -> dict[str, int]:
        """Return how often each answer was given, the most frequent first."""
        return dict(self._labels.most_common())

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


def given_rows(predictor: Answering | NumberPredictor, lines: list[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return each given text as a row, and what the model reads: the text, or of a row in JSON its inputs.

    Raises:
        UsageError: the model reads several inputs, and a line does not hold them.
    """
    inputs = predictor.trained.config.inputs
    if inputs is None:
        return [{"text": text} for text in lines], lines
    rows = [inputs.read(line) for line in lines]
    return rows, [inputs.compose(row) if row else "" for row in rows]


def table_in_batches(
    predictor: KnowsItsColumn, file: Path, text: str | None, *, rows: int, inputs: Inputs | None = None
) -> tuple[Iterator[pl.DataFrame], TextsOf, Delimited]:
    """Return the batches of a table, a function for their texts, and how its columns are separated.

    Args:
        rows: of a batch. The columns are found by more rows than these.
        inputs: what the model reads, if it reads several inputs.
    """
    from glassformer.data.rows import Delimited, iterate_rows

    read_as: list[Delimited] = []
    frames = iterate_rows(file, rows_per_batch=_ROWS_PER_BATCH, on_delimited=read_as.append)
    first = next(frames)
    texts_of = _texts_of(predictor, inputs, first, str(file), text)
    batches = (batch for frame in itertools.chain([first], frames) for batch in frame.iter_slices(rows))
    return batches, texts_of, read_as[0] if read_as else Delimited()


def _texts_of(
    predictor: KnowsItsColumn, inputs: Inputs | None, sample: pl.DataFrame, source: str, text: str | None
) -> TextsOf:
    from glassformer.data.input_columns import composer
    from glassformer.prediction.answered_rows import texts_in

    if inputs is None:
        return texts_in(_text_column(predictor, sample, source, text))
    if text is not None:
        raise UsageError(f"--text: this model reads {inputs.in_words}, by their names; leave it out")
    return composer(sample, inputs, source)


def _text_column(predictor: KnowsItsColumn, sample: pl.DataFrame, source: str, text: str | None) -> str:
    """Return the column of a table that holds the texts, and say what was noticed about the columns."""
    from glassformer.data.columns import find_columns, same_column

    learned = same_column(predictor.text_column, sample.columns)
    if text is None and learned is None and predictor.text_column is not None:
        say(f"warning: {source} has no column {predictor.text_column!r}, which the model learned from")
    text = text or learned
    columns = find_columns(sample, source, text=text, label=None, group=None, labelled=False)
    for note in columns.notes:
        say(note)
    return columns.text
