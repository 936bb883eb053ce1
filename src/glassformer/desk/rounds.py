"""Train in the background: a round learns from all labels, answers all texts, and looks for doubtful labels."""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from glassformer.data.stopping import WITH_STDIN
from glassformer.data.wording import counted
from glassformer.desk.choosing import ASIDE_BELOW, expected_seconds, suggestions
from glassformer.desk.inputs_read import InputsRead
from glassformer.desk.labelling import Labelling
from glassformer.desk.learning_chart import kept
from glassformer.desk.project import LABELS_FILE, Project
from glassformer.errors import GlassformerError, UsageError
from glassformer.labels.check import check_labels
from glassformer.labels.findings import OF_LABELS, LabelCheck
from glassformer.labels.learning_curve import fewest_rows
from glassformer.prediction.answering import Answering
from glassformer.prediction.folder_names import REPORT_FILE
from glassformer.prediction.load_answering import load_answering
from glassformer.readers.rules.reader import RULES_FILE

FEWEST_LABELS = 16
"""What the first round needs, besides what its labels need (see `Labelling.missing`)."""

_MORE, _MORE_SHARE = 10, 0.2  # labels after which the next round begins: so many, and this share of those before
_DOUBTS, _LINES_SHOWN, _MODELS_KEPT = 200, 3, 3
_KNOWS_NOTHING = (
    "on texts that it has not seen, a model is not clearly better than one answer for all; label more texts"
)
_UNTOLD = "What more labels would bring cannot be told: {}"
_ASIDE = 100  # answers to texts set aside for measuring that are kept of a round
_WAITING = 1.0  # seconds, for space on the disk

Command = Callable[[str, str, Mapping[str, Any]], list[str]]
"""Given the name of a table and of a folder, both in the project's, and settings of `SourceConfig`, the command that
trains a model on the one into the other."""
OnModel = Callable[[Answering, Path], None]


@dataclass(kw_only=True)
class Rounds:
    """The rounds of a project. One runs at a time, as `glassformer train` in a process of its own.

    Attributes:
        on_model: is called in the thread of the round with each new model and its folder, before it answers the texts.
        command: the command that trains.
        said: the last line of a round that runs.
    """

    project: Project
    on_model: OnModel
    command: Command
    said: str = ""
    _process: subprocess.Popen[str] | None = None
    _thread: threading.Thread | None = None
    _stopped: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def refusal(self) -> str | None:
        """Say what is missing for a round. None if one can begin."""
        lesson, labelling = self.project.lesson(), self.project.store.labelling
        if (why := labelling.missing(lesson)) is not None:
            return why
        missing = FEWEST_LABELS - lesson.height
        return f"{counted(missing, 'more label')}, and the first model is trained" if missing > 0 else None

    @property
    def due(self) -> bool:
        """Whether there are enough new labels for the next round."""
        if self.running or self.refusal() is not None:
            return False
        rounds = self.project.store.rounds()
        before = rounds[-1]["labels"] if rounds else 0
        return not rounds or self.project.lesson().height - before >= max(_MORE, _MORE_SHARE * before)

    def begin_if_due(self) -> int | None:
        """Begin a round if there are enough new labels. None if there are not, or if the disk is full."""
        try:
            with self._lock:  # two tabs may decide at once
                return self.begin() if self.due else None
        except (OSError, sqlite3.OperationalError):  # the labels are kept; the next one tries again
            return None

    def begin(self) -> int:
        """Begin a round, and return its number.

        Raises:
            UsageError: one runs, or labels are missing.
        """
        with self._lock:
            if self.running:
                raise UsageError("a model is being trained already; wait for it, or stop it")
            if (why := self.refusal()) is not None:
                raise UsageError(why)
            with self.project.store.change():  # labels, rules and settings of one moment
                number = self._next()
                batch = self.project.store.last_batch  # the names of the classes are those after it
                lesson = self.project.write_lesson()["id"]
                record = {
                    "labels": len(lesson),
                    "batch": batch,
                    "command": shlex.join(self._command(number)),
                    "settings": self.project.settings(),
                    "began": time.time(),
                }
                self.project.store.write_round(number, "running", record)
            self._stopped, self.said = False, "starting"
            self._thread = threading.Thread(target=self._run, args=(number, record, lesson), name="round", daemon=True)
            self._thread.start()
            return number

    def stop(self) -> None:
        """Stop the round that runs, if one does, and wait for its end."""
        self._stopped = True
        if self._process is not None:
            self._process.terminate()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def take_up(self) -> Path | None:
        """Mark a round that was cut off as stopped, without what it left. Return the last model that is whole."""
        folder = None
        for found in self.project.store.rounds():
            number, state = found.pop("number"), found.pop("state")
            if state == "running":
                self.project.store.write_round(number, "stopped", found | {"reason": "the desk was closed"})
                shutil.rmtree(self.project.model(number), ignore_errors=True)
            elif state == "done" and (self.project.model(number) / "config.json").is_file():
                folder = self.project.model(number)
        return folder

    @property
    def shown_command(self) -> str:
        """The command of the next round, as a person may type it where the desk was started."""
        return shlex.join(self._command(self._next()))

    def _next(self) -> int:
        """Return the number of the next round. Folders of models may be there that somebody else trained."""
        rounds = self.project.store.rounds()
        numbers = itertools.count(rounds[-1]["number"] + 1 if rounds else 1)
        return next(number for number in numbers if not self.project.model(number).exists())

    def _command(self, number: int) -> list[str]:
        folder = self.project.folder
        rules = {"rules": str(folder / RULES_FILE)} if self.project.rules()[0] else {}
        asked = {**self.project.settings(), **rules}
        return self.command(str(folder / LABELS_FILE), str(self.project.model(number)), asked)

    def _run(self, number: int, record: dict[str, Any], learned: pl.Series) -> None:
        try:
            reason = self._trained(number)
            if reason is None:
                record |= self._looked_at(number, learned)
        except GlassformerError as error:
            reason = error.message
        except OSError as error:  # the disk is full, or the folder is gone
            reason = f"{error.strerror}: {error.filename}"
        except sqlite3.OperationalError as error:
            reason = str(error)
        except Exception as error:  # a round without an end would run for ever
            reason = f"{type(error).__name__}: {error}"
        state = "done" if reason is None else "stopped" if self._stopped else "failed"
        record |= {"seconds": round(time.time() - record["began"], 1)}
        if reason is not None:
            record["reason"] = reason
            shutil.rmtree(self.project.model(number), ignore_errors=True)
        while not self._is_kept(number, state, record):
            time.sleep(_WAITING)
        self._tidy()
        self.said = ""

    def _is_kept(self, number: int, state: str, record: Mapping[str, Any]) -> bool:
        """Write how a round ended. Whether it is written, or the desk is closed."""
        try:
            self.project.store.write_round(number, state, record)
        except sqlite3.OperationalError as error:
            self.said = f"waiting, as nothing can be kept: {error}"
            return self._stopped
        return True

    def _tidy(self) -> None:
        """Of all but the last models, leave only the report."""
        done = [found["number"] for found in self.project.store.rounds() if found["state"] == "done"]
        for number in done[:-_MODELS_KEPT]:
            for path in self.project.model(number).glob("*"):
                if path.name != REPORT_FILE:
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()

    def _trained(self, number: int) -> str | None:
        """Run the command of a round. Return why there is no model, or None."""
        command = next(found["command"] for found in self.project.store.rounds() if found["number"] == number)
        arguments = [sys.executable, "-P", "-m", *shlex.split(command)]  # -P: no module that lies where the desk runs
        self._process = subprocess.Popen(
            arguments, text=True, errors="replace", env=os.environ | {WITH_STDIN: "yes"},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        lines: list[str] = []
        for line in self._process.stderr:
            if line.strip():
                lines = [*lines[1 - _LINES_SHOWN :], line.strip()]
                self.said = line.strip()
        status = self._process.wait()
        self._process.stdin.close()
        self._process.stderr.close()
        self._process = None
        if self._stopped:
            return "somebody stopped it"
        return " ".join(lines).removeprefix("error: ") if status else None

    def _looked_at(self, number: int, learned: pl.Series) -> dict[str, Any]:
        """Answer the texts that nobody has labelled, and check the labels. Return what goes into the record.

        Args:
            learned: the numbers of the texts that the model was trained from, in their order.
        """
        store, folder, inputs = self.project.store, self.project.model(number), InputsRead.of(self.project.store.facts)
        self.said = "answering the texts without a label"
        predictor = load_answering(folder, device="cpu")
        self.on_model(predictor, folder)
        store.keep_unseen(_unseen(predictor, store.labelling, learned), number=number)
        texts = store.unlabelled()
        found: dict[str, Any] = {}
        if texts.height:
            seconds = expected_seconds(store, list(map(len, inputs.words(texts))))
            suggested = suggestions(predictor, texts, store.labelling, inputs, seconds)
            store.suggest(suggested, number=number)
            aside = suggested.filter(texts["draw"] < ASIDE_BELOW).head(_ASIDE)
            found["aside"] = dict(zip(aside["id"], aside["label"], strict=True))
        self.said = "checking the labels"
        batch, labelled, labelling = store.last_batch, store.labelled(), store.labelling
        lesson = labelling.lesson(labelled)  # a class with a single text would end the check
        labelled = labelled.filter(pl.col("id").is_in(lesson["id"].implode()))
        cells, checked = labelled["label"].to_list(), list(map(labelling.to_check, lesson["label"]))
        try:
            check = check_labels(inputs.words(labelled), checked, task=labelling.task)
        except UsageError as error:  # nearly all texts are the same, or labels were taken back meanwhile
            return found | {"more": _UNTOLD.format(error.message), "unchecked": error.message}
        doubted = check.findings.filter(pl.col("why").is_in(OF_LABELS)).head(_DOUBTS)
        ids = labelled["id"].to_list()
        store.note(
            doubts=[_doubt(row, ids, cells, labelling) | {"batch": batch} for row in doubted.iter_rows(named=True)]
        )
        if check.curve is not None:
            found["curve"] = kept(check.curve, texts.height)
        if check.knows_nothing and doubted.is_empty():
            found["unchecked"] = _KNOWS_NOTHING
        return found | {"more": more_in_words(check, texts.height)}


def _unseen(predictor: Answering, labelling: Labelling, learned: pl.Series) -> pl.DataFrame:
    """Return what was said of texts that a model had not learned: the columns of `keep_unseen`."""
    if (found := labelling.unseen(predictor)) is None:
        return pl.DataFrame(schema=["id", "answered", "probability"])
    known = (found.rows > 0) & (found.rows <= len(learned))
    columns = {"answered": found.said.cells, "probability": found.said.sureness}
    return pl.DataFrame(columns).filter(known).with_columns(id=learned.gather(found.rows[known] - 1))


def _doubt(row: Mapping[str, Any], ids: Sequence[int], cells: Sequence[str], labelling: Labelling) -> dict[str, Any]:
    """Return what is kept of a finding. If another text contradicts the label, that is kept with its label."""
    at, suggested = row["row"] - 1, row["suggested_label"]
    doubt = {"id": ids[at], "label": cells[at], "why": row["why"]}
    doubt["suggested"] = None if suggested is None else labelling.checked(suggested)
    if row["other_row"] is not None:
        doubt |= {"other": ids[row["other_row"] - 1], "other_label": cells[row["other_row"] - 1]}
    return doubt


def more_in_words(check: LabelCheck, left: int) -> str:
    """Say what labels of the texts that are left would bring, and whether a person can stop; or why it cannot be told.

    Args:
        left: how many texts nobody has decided about.
    """
    curve = check.curve
    if curve is None:
        fewest = fewest_rows(len(check.labels))
        few = f"From {fewest:,} labels on, this says what more of them would bring"
        return few if check.rows < fewest else _UNTOLD.format(_KNOWS_NOTHING)
    if gains := [gain for gain in curve.gains if gain.more <= left]:
        said = ", and ".join(dict.fromkeys(curve.in_words("labels", gain) for gain in (gains[0], gains[-1])))
    else:
        fewer = f"fewer than {curve.batch.more:,} texts are left"
        said = f"{fewer}, so what they would bring is not foretold"
        said = f"{fewer}, and even that many labels would hardly help" if curve.is_enough else said
    return f"You can stop: {said}" if curve.is_enough else f"{said[0].upper()}{said[1:]}"
