"""`glassformer predict`: answers for a text, many, a file or a pipe."""

from __future__ import annotations

import gzip
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.output import human_count, print_json, say
from glassformer.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from glassformer.prediction.predictor import Answers, Predictor

_ROWS_PER_BATCH = 4096
_UNKNOWN_SHOWN = 10
_WRITERS = {".csv": ",", ".tsv": "\t", ".jsonl": None, ".ndjson": None}


def predict(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts; without any, one per line is read from a pipe.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="A table of texts; - reads it from a pipe.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where a file's answers go: .csv, .tsv or .jsonl, .gz allowed.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column with the texts.")] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Show only this many labels.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, mps, or auto.")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Answer texts with labels and probabilities."""
    if texts and file:
        raise UsageError("give texts or --file, not both")
    if out is not None and file is None:
        raise UsageError("--out goes with --file; a text's answer is printed")
    if out is not None:
        _check_out(out)
    if not texts and file is None and sys.stdin.isatty():
        raise UsageError("nothing to answer: give a text, --file TABLE, or pipe one text per line")
    from glassformer.prediction.devices import choose_device
    from glassformer.prediction.predictor import Predictor

    predictor = Predictor.load(model, device=choose_device(device))
    if file is not None:
        _answer_file(predictor, file, out, text, json=json)
    else:
        _answer_texts(predictor, texts if texts else _lines_of_pipe(), top_k, json=json)


def _lines_of_pipe() -> list[str]:
    try:
        return [line.rstrip("\r\n") for line in sys.stdin.buffer.read().decode("utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 (byte {error.start}); convert it first") from error


def _answer_texts(predictor: Predictor, texts: list[str], top_k: int | None, *, json: bool) -> None:
    if not texts:
        raise UsageError("nothing to answer: the pipe was empty")
    if blank := [number for number, one in enumerate(texts, 1) if not one.strip()]:
        say(f"warning: {len(blank)} of {len(texts)} texts are empty (text {blank[0]} first); their answer means little")
    answers = predictor.answer(texts)
    _warn_of_unknown(answers.unknown)
    if json:
        print_json({"answers": [_as_json(answers, row, text, top_k) for row, text in enumerate(texts)]})
        return
    for row, (text, label) in enumerate(zip(texts, answers.predictions(), strict=True)):
        shown = ", ".join(map(str, label)) if answers.multilabel else str(label)
        ranked = "  ".join(f"{name} {prob:.3f}" for name, prob in answers.ranked(row, top_k))
        print(f"{shown or '(no label)'}\t{ranked}" + (f"\t{text}" if len(texts) > 1 else ""))


def _as_json(answers: Answers, row: int, text: str, top_k: int | None) -> dict[str, Any]:
    return {
        "text": text,
        "prediction": answers.predictions()[row],
        "confidence": round(float(answers.confidences()[row]), 6),
        "probabilities": {str(name): round(prob, 6) for name, prob in answers.ranked(row, top_k)},
    }


def _warn_of_unknown(unknown: Counter[str]) -> None:
    if unknown:
        shown = ", ".join(word for word, _ in unknown.most_common(_UNKNOWN_SHOWN))
        more = f" and {human_count(len(unknown) - _UNKNOWN_SHOWN)} more" if len(unknown) > _UNKNOWN_SHOWN else ""
        say(f"warning: words never seen in training are read as unknown: {shown}{more}")


def _answer_file(predictor: Predictor, file: Path, out: Path | None, text: str | None, *, json: bool) -> None:
    """Stream a table through the model; what is written is complete or not there."""
    from glassformer.data.rows import iterate_rows
    from glassformer.prediction.predictor import answer_frames

    frames = iterate_rows(file, rows_per_batch=_ROWS_PER_BATCH)
    first = next(frames)
    column = _text_column(predictor, first, str(file), text)
    answered = answer_frames(predictor, _chain(first, frames), text_column=column, source=str(file))
    unknown: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    rows = blank = 0
    with _writer(out, json=json and out is None) as write:
        for frame, answers in answered:
            write(frame)
            rows += frame.height
            blank += frame["prediction"].null_count()
            unknown.update(answers.unknown)
            counts.update(frame["prediction"].drop_nulls().to_list())
            if out is not None and sys.stderr.isatty():
                print(f"\r{human_count(rows)} rows", end="", file=sys.stderr, flush=True)
    if out is not None and sys.stderr.isatty():
        print(file=sys.stderr)
    _warn_of_unknown(unknown)
    if blank:
        say(f"warning: {human_count(blank)} rows have an empty text and are left unanswered")
    if out is None:
        return
    if json:
        print_json({"out": str(out), "rows": rows, "unanswered": blank, "predictions": dict(counts.most_common())})
    else:
        shown = ", ".join(f"{label} {human_count(count)}" for label, count in counts.most_common(10))
        print(f"{out}: {human_count(rows)} rows answered ({shown})")


def _chain(first: pl.DataFrame, rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    yield from rest


def _text_column(predictor: Predictor, sample: pl.DataFrame, source: str, text: str | None) -> str:
    from glassformer.data.columns import find_columns

    learned = predictor.trained.config.data.get("text_column")
    if text is None and learned in sample.columns:
        return str(learned)
    columns = find_columns(sample, source, text=text, label=None, group=None, labelled=False)
    for note in columns.notes:
        say(note)
    return columns.text


def _check_out(out: Path) -> None:
    suffix = out.with_suffix("").suffix if out.suffix == ".gz" else out.suffix
    if suffix not in _WRITERS:
        raise UsageError(f"--out {out}: write answers as {', '.join(_WRITERS)}, each also with .gz")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")


@contextmanager
def _writer(out: Path | None, *, json: bool) -> Iterator[Any]:
    """A function that takes frames: into a file, as CSV on standard output, or as one JSON document there."""
    if out is None:
        yield from _to_standard_output(json=json)
        return
    suffix = out.with_suffix("").suffix if out.suffix == ".gz" else out.suffix
    aside = out.with_name(f".{out.name}.writing-{os.getpid()}")
    try:
        with gzip.open(aside, "wb") if out.suffix == ".gz" else aside.open("wb") as file:
            yield _frame_writer(file, _WRITERS[suffix])
        aside.replace(out)
    finally:
        aside.unlink(missing_ok=True)


def _frame_writer(file: IO[bytes] | gzip.GzipFile, separator: str | None) -> Any:
    header = True

    def write(frame: pl.DataFrame) -> None:
        nonlocal header
        if separator is None:
            file.write(frame.write_ndjson().encode())
        else:
            file.write(frame.write_csv(include_header=header, separator=separator).encode())
        header = False

    return write


def _to_standard_output(*, json: bool) -> Iterator[Any]:
    if not json:
        yield _frame_writer(sys.stdout.buffer, ",")
        sys.stdout.buffer.flush()
        return
    separator = ""

    def write(frame: pl.DataFrame) -> None:
        nonlocal separator
        lines = frame.write_ndjson().splitlines()
        sys.stdout.write(separator + ",\n".join(lines))
        separator = ",\n"

    sys.stdout.write('{"answers": [\n')
    yield write
    sys.stdout.write("\n]}\n")
