"""`glassformer predict` with a model that answers with a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.cli.number import load_number
from glassformer.cli.output import doing, human_count, one_line, print_json, say, show
from glassformer.cli.pace import Pace, size_of_file, size_of_rows
from glassformer.cli.rows_to_answer import Misread, given_rows, table_in_batches, text_batches
from glassformer.cli.unknown import Marked, note_what_is_not_kept, warn_of_unknown, warn_of_unlike
from glassformer.cli.writers import LONGEST_SHOWN, Style, write_columns, write_lines
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.prediction.number_answering import NumberAnswering, NumberAnswers


def predict_numbers(
    model: Path,
    texts: list[str] | None,
    file: Path | None,
    out: Path | None,
    text: str | None,
    style: Style,
    device: str,
    *,
    safe_csv: bool,
) -> None:
    """Answer texts, a table or a pipe with numbers."""
    predictor = load_number(model, device)
    if file is None:
        _answer_texts(predictor, texts, style)
    elif style != "plain" and out is None:
        _answer_file_as_json(predictor, file, text, style)
    else:
        _answer_file(predictor, file, out, text, safe_csv=safe_csv, json=style == "json")
    if style == "plain":
        _say_what_intervals_are(predictor)
        note_what_is_not_kept(predictor.trained.seen)


def _say_what_intervals_are(predictor: NumberAnswering) -> None:
    held_out = predictor.held_out
    if why := predictor.why_no_interval():
        say(f"note: there are no intervals: {why}")
    elif held_out is not None:
        which = "held-out rows" if held_out.folds == 1 else "cross-fitted rows"
        rows = f"{human_count(held_out.rows)} {which}"
        say(f"note: an interval should contain the true number of 90% of texts; calibrated on {rows}")


def _answer_texts(predictor: NumberAnswering, texts: list[str] | None, style: Style) -> None:
    from glassformer.data.inputs import shown

    batches = text_batches(texts)
    told, pace, misread = _Told("text"), Pace("texts"), Misread("text")
    doing("")  # show nothing while a pipe is silent
    with write_lines(style) as write:
        for batch in batches:
            pace.begin()
            rows, composed = given_rows(predictor, batch, misread)
            answers = predictor.answer(composed, on_progress=pace.on_progress)
            write(_text_lines(answers, map(shown, composed)) if style == "plain" else answers.lines(rows))
            told.add(answers)
            pace.end(len(batch))
        if not told.rows:
            raise UsageError("nothing to answer: the pipe was empty")
    told.warn()


def _text_lines(answers: NumberAnswers, texts: Iterable[str]) -> Iterator[str]:
    """Yield a line per text: its number, the interval, and how the text begins."""
    from glassformer.data.wording import short

    for text, record in zip(texts, answers.records(), strict=True):
        value, low, high = (record[name] for name in ("prediction", "interval_low", "interval_high"))
        interval = "" if low is None else f"{short(low)} to {short(high)}"
        beginning = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
        yield "\t".join(map(one_line, ["(no text)" if value is None else short(value), interval, beginning]))


def _answered(
    predictor: NumberAnswering, file: Path, text: str | None, told: _Told
) -> tuple[Iterator[tuple[Any, NumberAnswers]], Any]:
    """Return the batches of a table with their answers, and how its columns are separated."""
    inputs = predictor.trained.config.inputs
    frames, texts_of, like = table_in_batches(predictor, file, text, inputs=inputs)
    total = size_of_file(file)
    pace = Pace("rows", total)

    def answer() -> Iterator[tuple[Any, NumberAnswers]]:
        for frame in frames:
            pace.begin(size_of_rows(frame, file) if total else 0)
            answers = predictor.answer(texts_of(frame), on_progress=pace.on_progress)
            yield frame, answers
            told.add(answers)
            pace.end(frame.height)

    return answer(), like


def _answer_file(
    predictor: NumberAnswering, file: Path, out: Path | None, text: str | None, *, safe_csv: bool, json: bool
) -> None:
    """Answer a table in batches. A file is written completely or not at all."""
    from glassformer.data.wording import counted
    from glassformer.prediction.number_answering import COLUMNS

    told = _Told("row")
    batches, like = _answered(predictor, file, text, told)
    with write_columns(out, added=COLUMNS, source=str(file), like=like, safe=safe_csv) as write:
        for frame, answers in batches:
            write(frame, answers.columns())
    told.warn()
    if out is not None and json:
        print_json({"out": str(out), "rows": told.rows, "answered": told.rows - told.empty, "unanswered": told.empty})
    elif out is not None:
        answered = f"{told.rows - told.empty:,} of " if told.empty else ""
        show(f"{out}: {answered}{counted(told.rows, 'row')} answered")


def _answer_file_as_json(predictor: NumberAnswering, file: Path, text: str | None, style: Style) -> None:
    import json

    told = _Told("row")
    with write_lines(style) as write:
        for frame, answers in _answered(predictor, file, text, told)[0]:
            write(answers.lines(map(json.loads, frame.write_ndjson().rstrip("\n").split("\n"))))
    told.warn()


class _Told:
    """Counts over all answers: the rows, the empty texts, and the unknown words."""

    def __init__(self, unit: str) -> None:
        self.unit, self.rows = unit, 0
        self._empty, self._unlike = Marked(), Marked()
        self._unknown: Counter[str] = Counter()

    def add(self, answers: NumberAnswers) -> None:
        self._empty.add(answers.empty, after=self.rows)
        if answers.unlike is not None:
            self._unlike.add(answers.unlike, after=self.rows)
        self.rows += len(answers.empty)
        self._unknown.update(answers.unknown)

    @property
    def empty(self) -> int:
        """The texts that got no answer."""
        return self._empty.count

    def warn(self) -> None:
        """Warn of unknown words, of texts unlike the training data, and of empty texts."""
        warn_of_unknown(self._unknown)
        warn_of_unlike(self._unlike, self.rows, self.unit)
        self._empty.warn(self.rows, self.unit, ("is empty and gets no answer", "are empty and get no answer"))
