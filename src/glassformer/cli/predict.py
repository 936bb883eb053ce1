"""`glassformer predict`: answers for a text, many, a file or a pipe."""

from __future__ import annotations

import itertools
import json as json_library
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.options import Device, Json, TextColumn
from glassformer.cli.output import human_count, one_line, print_json, say
from glassformer.cli.writers import check_out, lines_on_standard_output, table_in_file, table_on_standard_output
from glassformer.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from glassformer.prediction.predictor import Answers, Predictor

_ROWS_PER_BATCH = 4096
_UNKNOWN_SHOWN = 10


def predict(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts; without any, one per line is read from a pipe.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="A table of texts; - reads it from a pipe.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where a file's answers go: .csv, .tsv or .jsonl, .gz allowed.")
    ] = None,
    text: TextColumn = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Show only this many labels.")] = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Answer texts with labels and probabilities."""
    if texts and file:
        raise UsageError("give texts or --file, not both")
    if file is None and (out is not None or text is not None):
        raise UsageError(f"--{'text' if out is None else 'out'} goes with --file; a text's answer is printed")
    if file is not None and top_k is not None:
        raise UsageError("--top-k goes with texts; the answers to a file hold the probability of every label")
    if out is not None:
        check_out(out)
        if file is not None and out.exists() and file.exists() and out.samefile(file):
            raise UsageError(f"--out {out} is the table that is read; name another file")
    if not texts and file is None and sys.stdin.isatty():
        raise UsageError("nothing to answer: give a text, --file TABLE, or pipe one text per line")
    from glassformer.data.lines import lines_of
    from glassformer.prediction.devices import choose_device
    from glassformer.prediction.predictor import Predictor

    predictor = Predictor.load(model, device=choose_device(device))
    if file is not None:
        _answer_file(predictor, file, out, text, json=json)
    else:
        _answer_texts(
            predictor,
            _checked(texts) if texts else lines_of(sys.stdin.buffer, "standard input"),
            top_k,
            json=json,
            alone=len(texts or ()) == 1,
        )


def _checked(texts: list[str]) -> list[str]:
    for number, text in enumerate(texts, 1):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"text {number} is not UTF-8; convert it first") from error
    return texts


def _answer_texts(predictor: Predictor, texts: Iterable[str], top_k: int | None, *, json: bool, alone: bool) -> None:
    """Stream texts through the model; an answer that does not stand `alone` is followed by its text."""
    from glassformer.data.tokenizers import batched

    unknown: Counter[str] = Counter()
    blank: list[int] = []
    count = 0
    with lines_on_standard_output(json=json) as write:
        for batch in batched(texts, _ROWS_PER_BATCH):
            answers = predictor.answer(batch)
            write(_answer_lines(answers, batch, top_k, json=json, alone=alone))
            unknown.update(answers.unknown)
            blank += [number for number, one in enumerate(batch, count + 1) if not one.strip()]
            count += len(batch)
        if not count:
            raise UsageError("nothing to answer: the pipe was empty")
    _warn_of_unknown(unknown)
    if blank:
        say(f"warning: {len(blank)} of {count} texts without a word (first: text {blank[0]}); such answers mean little")


def _answer_lines(answers: Answers, texts: list[str], top_k: int | None, *, json: bool, alone: bool) -> Iterator[str]:
    """One line for each text: its label, the likeliest labels with their probabilities, the text; or a JSON object."""
    predictions, confidences = answers.predictions(), answers.confidences()
    for row, (text, label) in enumerate(zip(texts, predictions, strict=True)):
        ranked = answers.ranked(row, top_k)
        if json:
            record = {
                "text": text,
                "prediction": label,
                "confidence": round(float(confidences[row]), 6),
                "probabilities": {str(name): round(prob, 6) for name, prob in ranked},
            }
            yield json_library.dumps(record, ensure_ascii=False)
        else:
            shown = ", ".join(map(str, label)) if answers.multilabel else str(label)
            listed = "  ".join(f"{name} {prob:.3f}" for name, prob in ranked)
            cells = [shown or "(no label)", listed, *([] if alone else [text])]
            yield "\t".join(map(one_line, cells))


def _warn_of_unknown(unknown: Counter[str]) -> None:
    if unknown:
        shown = ", ".join(word for word, _ in unknown.most_common(_UNKNOWN_SHOWN))
        more = f" and {human_count(len(unknown) - _UNKNOWN_SHOWN)} more" if len(unknown) > _UNKNOWN_SHOWN else ""
        say(f"warning: words never seen in training are read as unknown: {shown}{more}")


def _answer_file(predictor: Predictor, file: Path, out: Path | None, text: str | None, *, json: bool) -> None:
    """Stream a table through the model; what is written is complete or not there."""
    from glassformer.data.rows import iterate_rows
    from glassformer.data.table import counted
    from glassformer.prediction.predictor import answer_frames

    frames = iterate_rows(file, rows_per_batch=_ROWS_PER_BATCH)
    first = next(frames)
    column = _text_column(predictor, first, str(file), text)
    answered = answer_frames(predictor, itertools.chain([first], frames), text_column=column, source=str(file))
    unknown: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    rows = blank = 0
    with table_on_standard_output(json=json) if out is None else table_in_file(out) as write:
        for frame, answers in answered:
            write(frame)
            rows += frame.height
            blank += frame["prediction"].null_count()
            unknown.update(answers.unknown)
            counts.update(frame["prediction"].drop_nulls().to_list())
            if out is not None and sys.stderr.isatty():
                print(f"\r{counted(rows, 'row')}", end="", file=sys.stderr, flush=True)
    if out is not None and sys.stderr.isatty():
        print(file=sys.stderr)
    _warn_of_unknown(unknown)
    if blank:
        are = "is" if blank == 1 else "are"
        say(f"warning: {human_count(blank)} of {human_count(rows)} rows without a text {are} left unanswered")
    if out is None:
        return
    if json:
        print_json({"out": str(out), "rows": rows, "unanswered": blank, "predictions": dict(counts.most_common())})
    else:
        shown = ", ".join(f"{label} {human_count(count)}" for label, count in counts.most_common(10))
        print(f"{out}: {counted(rows, 'row')} answered ({shown})")


def _text_column(predictor: Predictor, sample: pl.DataFrame, source: str, text: str | None) -> str:
    from glassformer.data.columns import find_columns

    learned = predictor.trained.config.data.get("text_column")
    if text is None and learned in sample.columns:
        text = str(learned)
    columns = find_columns(sample, source, text=text, label=None, group=None, labelled=False)
    for note in columns.notes:
        say(note)
    return columns.text
