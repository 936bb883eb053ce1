"""Run distillation: a small student learns to answer texts like a trained teacher (Hinton et al. 2015).

The teacher answers with all of its readers. The student is a transformer alone, so it learns from all of them.
"""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from pydantic import ValidationError

from glassformer.data.arrays import Array, FloatArray, IntArray
from glassformer.data.documents import Documents, Unlabelled, admitted, read_rows, read_unlabelled, split_documents
from glassformer.data.inputs import Inputs
from glassformer.data.labels import LabelSet
from glassformer.data.sources import Sources, TableOptions, read_like_training
from glassformer.data.splits import Splits, fingerprint
from glassformer.data.table import Table, text_keys
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError, UsageError, brief_value
from glassformer.models.memory import keep_large_buffers
from glassformer.models.model_config import PRESETS, ModelConfig
from glassformer.prediction.answering import Answering
from glassformer.prediction.exported import ExportedConfig
from glassformer.prediction.folder_config import FolderConfig, Remembered
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER
from glassformer.prediction.load_answering import load_answering
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.probabilities import TEMPERATURE_BOUNDS
from glassformer.targets.target import Target
from glassformer.training.loop import Observer, Silent
from glassformer.training.preparation import Prepared, check_head, recipe_for_inputs
from glassformer.training.recipe import Recipe, load_recipe
from glassformer.training.recipe_files import check_student
from glassformer.training.run import Kept, train_prepared
from glassformer.training.unfinished import keep_held_out, kept_held_out, work_in

TEMPERATURE = 1.0
_TEXTS_AT_ONCE = 1_024  # an interrupted run has lost at most the answers to so many
_OF_LABELS = {"class_weights": "none", "resample": "none", "label_smoothing": 0.0, "loss": "cross-entropy", "costs": ()}
"""The settings of training that need labels, with the values that do nothing."""


class Known(NamedTuple):
    """The labels of those validation texts whose labels are known."""

    rows: IntArray
    labels: Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Teacher:
    """A trained model that answers texts for a student: a model folder or an exported model."""

    name: str
    answering: Answering

    @classmethod
    def load(cls, folder: Path, *, device: str = "cpu") -> Teacher:
        """Read a teacher. Raises what `load_answering` raises."""
        return cls(name=str(folder), answering=load_answering(folder, device=device))

    @property
    def target(self) -> Target:
        return self.answering.trained.config.target

    @property
    def inputs(self) -> Inputs | None:
        return self.answering.trained.config.inputs

    @property
    def student(self) -> type[PreparedStudent]:
        """The run of a student that answers as this teacher does."""
        return self.target.part("training_distil")

    @property
    def labels(self) -> LabelSet:
        return LabelSet(**self.target.as_labels)

    @cached_property
    def rows(self) -> Remembered:
        """What the teacher says about the rows that it was trained on.

        Raises:
            GlassformerError: an exported model says it in a way that cannot be read.
        """
        config = self.answering.trained.config
        if isinstance(config, FolderConfig):
            return config.remembered
        made_of = config.made_of.model_dump() if isinstance(config, ExportedConfig) else {}
        try:
            return Remembered.model_validate({name: made_of.get(name, {}) for name in ("data", "recipe")})
        except ValidationError as error:
            raise GlassformerError(f"{self.name}: config.json: made_of is damaged; export the model again") from error

    @property
    def doubts(self) -> list[str]:
        """Say if a student of this teacher gains little, or loses rules."""
        config, said = self.answering.trained.config, []
        if config.transformer_is_silent:
            how = f"{self.name} answers by {config.asked_in_words} alone"
            said.append(f"{how}: a student is hardly faster, and may be less accurate")
        if "rules" in config.weights:
            said.append(f"the student learns the rules of {self.name} from its answers: none of them decides any more")
        return said

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of its config, which says when and from which rows it was made."""
        config: Any = self.answering.trained.config
        return hashlib.sha256(config.model_dump_json().encode()).hexdigest()

    def scores(self, texts: Sequence[str]) -> FloatArray:
        """Return what a student learns of texts, from all readers together: (texts, width)."""
        return self.target.taught(self.answering.logits(texts)).astype(np.float32)

    def read_texts(self, source: str, data_dir: Path | None = None) -> Documents:
        """Read texts without labels, or the rows of a table if the teacher reads several inputs.

        Raises:
            UsageError: they cannot be read, or lack an input.
        """
        if self.inputs is None:
            return read_unlabelled(source, data_dir, like=self.answering.text_column)
        return read_rows(source, self.inputs)

    def read_labelled(self, data: str, data_dir: Path | None = None, *, multilabel: str | None = None) -> Table:
        """Read a table with answers of the kind of this teacher, or the training rows of a known data set.

        By default the columns are those of the teacher's training table, if it has them.

        Raises:
            UsageError: the table cannot be read, or has a label that the teacher does not know.
        """
        table = read_like_training(
            data,
            self.rows.read_as,
            data_dir,
            TableOptions(multilabel=multilabel, fold_labels=self.rows.fold_labels),
            labels=self.target.names or (),
            inputs=self.inputs,
            split="train",
        )
        self.student.check_labelled(table, self.labels)
        return table


def student_recipe(into: str, overrides: Mapping[str, Any] | None = None) -> Recipe:
    """Return the recipe of a student, from the name of a preset, or of a recipe or its file.

    Raises:
        UsageError: there is no such preset or recipe, or a setting does not fit.
    """
    check_student(into)
    name, preset = (None, into) if into in PRESETS else (into, None)
    given = dict(overrides or {})
    recipe = load_recipe(name, preset=preset, overrides=given)
    if isinstance(recipe.model, ModelConfig) and "model.counting" not in given:
        return load_recipe(name, preset=preset, overrides=given | {"model.counting": "none"})
    return recipe


def distil(
    teacher: Teacher,
    texts: Sequence[Documents],
    recipe: Recipe,
    *,
    labelled: Table | None = None,
    temperature: float = TEMPERATURE,
    out: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    device: str = "cpu",
    observer: Observer | None = None,
    on_prepared: Callable[[PreparedStudent], None] | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> TrainedModel:
    """Train a student on the answers that a teacher gives to texts. With `out`, write a model folder there.

    It learns the probabilities of labels, or the number.

    Held-out texts choose the epoch and the calibration.

    Args:
        labelled: a table whose texts are read too. Its labels are not learned. They measure the student on held-out
            texts, and calibrate its answers.
        temperature: divides the logits of teacher and student in the loss. Above 1, small probabilities count more. A
            number has none.
        resume: continue the unfinished run in `out`. Texts, teacher and settings must be the same as before.

    Raises:
        UsageError: there are no texts, a setting does not fit, or `out` is in use already.
        InterruptedTraining: on Ctrl-C; `out` can be resumed.
        NotANumberError: training diverged; the best weights so far, if any, are in `out`.
    """
    _check(recipe, temperature)
    teacher.student.check(recipe, temperature)
    keep_large_buffers()
    all_texts = _all_texts(texts, labelled)
    splits = _splits(all_texts, teacher, recipe)
    check_head(recipe, teacher.labels)
    prepared = teacher.student(
        recipe=recipe_for_inputs(recipe, Sources(train=splits.train), None),
        labels=teacher.labels,
        splits=splits,
        own_texts=None,
        init=None,
        device=device,
        work=None if out is None else out / CHECKPOINT_FOLDER,
        teacher=teacher,
        temperature=temperature,
        labelled=labelled,
        on_progress=on_progress or (lambda _: None),
        **teacher.student.fields_of(teacher.target),
    )
    identity = {
        "texts": all_texts.fingerprint,
        "labelled": None if labelled is None else fingerprint(labelled),
        "teacher": teacher.fingerprint,
        "temperature": temperature,
        "recipe": recipe,
    }
    observer = observer or Silent()
    with work_in(out, identity, resume=resume, overwrite=overwrite):
        if on_prepared:
            on_prepared(prepared)
        for doubt in teacher.doubts:
            observer.on_message(doubt)
        return train_prepared(prepared, Kept(out=out), time.perf_counter(), observer, None, resume=resume)


def _splits(all_texts: Unlabelled, teacher: Teacher, recipe: Recipe) -> Splits:
    """Split the texts. Rows that differ in a column alone are all held out, or all learned."""
    rows, keys = all_texts.texts, text_keys(all_texts.texts)
    documents = Documents(texts=rows.filter(keys.is_first_distinct()), source=" and ".join(all_texts.sources))
    _, held_out = split_documents(documents, recipe.validation, seed=recipe.training.seed)
    chosen = keys.is_in(text_keys(rows.clear() if held_out is None else held_out.texts).implode())
    learned, validation = (_table(replace(documents, texts=rows.filter(side)), teacher) for side in (~chosen, chosen))
    repeated = all_texts.left_out.get("repeated", 0)
    left_out = f"left out: {counted(repeated, 'text that repeats another', 'texts that repeat others')}"
    notes = (left_out,) if repeated else ()
    return Splits(train=learned, validation=None if held_out is None else validation, notes=notes)


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedStudent(Prepared, ABC):
    """The run of a student before its first step. In the place of labels it has the teacher's answers.

    What differs between targets is in `targets/*/training_distil.py`.
    """

    teacher: Teacher
    temperature: float
    labelled: Table | None
    on_progress: Callable[[float], None]

    @classmethod
    def check(cls, recipe: Recipe, temperature: float) -> None:
        """Raise `UsageError` if a student cannot learn such answers in this way."""

    @classmethod
    @abstractmethod
    def check_labelled(cls, table: Table, labels: LabelSet) -> None:
        """Raise `UsageError` if a table has other labels than the teacher."""

    @classmethod
    def fields_of(cls, target: Any) -> dict[str, Any]:  # noqa: ARG003
        """Return the other fields of such a run, for the target of the teacher."""
        return {}

    @classmethod
    @abstractmethod
    def measured(cls, best: Mapping[str, float], teacher: str) -> str:
        """Say how well the best epoch answers held-out texts."""

    @cached_property
    def _answers(self) -> tuple[FloatArray, float]:
        """The teacher's answers (texts, width) to the training texts and then the validation texts, and the
        seconds that it took. An interrupted run reads those that it has.
        """
        tables = [self.splits.train, *filter(None, [self.splits.validation])]
        texts = pl.concat([table.frame["text"] for table in tables])
        parts: list[FloatArray] = []
        seconds = 0.0
        for number, some in enumerate(texts.to_frame().iter_slices(_TEXTS_AT_ONCE)):
            folder = None if self.work is None else self.work / "teacher" / str(number)
            found = kept_held_out(folder, (len(some), self.teacher.target.width))
            if found is None:
                began = time.perf_counter()
                found = self.teacher.scores(some["text"].to_list()), time.perf_counter() - began
                if folder is not None:
                    folder.mkdir(parents=True, exist_ok=True)
                    keep_held_out(folder, *found)
            parts.append(found[0])
            seconds += found[1]
            self.on_progress(sum(map(len, parts)) / len(texts))
        return np.concatenate(parts), seconds

    @cached_property
    def train_labels(self) -> FloatArray:
        return self._answers[0][: self.splits.train.frame.height]

    @cached_property
    def validation_labels(self) -> FloatArray | None:
        return None if self.splits.validation is None else self._answers[0][self.splits.train.frame.height :]

    @cached_property
    def known(self) -> Known | None:
        """The labels of the held-out texts that are in the labelled table. None if no label is known."""
        held_out = self.splits.validation
        if self.labelled is None or held_out is None:
            return None
        row_of = {text: row for row, text in enumerate(held_out.frame["text"])}
        frame = self.labelled.frame.filter(pl.col("text").is_in(list(row_of)))
        frame = frame.unique("text", keep="first", maintain_order=True)
        if frame.is_empty():
            return None
        rows = np.array([row_of[text] for text in frame["text"]], np.int64)
        return Known(rows=rows, labels=self.encoded(replace(self.labelled, frame=frame)))

    @property
    def record(self) -> dict[str, Any]:
        return {
            "teacher": {
                "name": self.teacher.name,
                "fingerprint": self.teacher.fingerprint,
                "rows": self.teacher.rows.model_dump(mode="json"),
                "temperature": self.temperature,
                "seconds": round(self._answers[1], 6),
                "known_labels": 0 if self.known is None else len(self.known.rows),
            }
        }


def _check(recipe: Recipe, temperature: float) -> None:
    low, high = TEMPERATURE_BOUNDS
    number = isinstance(temperature, float | int | np.floating)
    if not number or not low <= temperature <= high:
        given = f"{temperature:g}" if number else brief_value(temperature)
        raise UsageError(f"`temperature={given}`: give a number from {low:g} to {high:g}, such as 1 or 2")
    for name, usual in _OF_LABELS.items():
        if (value := getattr(recipe.training, name)) != usual:
            raise UsageError(
                f"`training.{name}={value!r}`: a student learns the answers of its teacher and not labels; leave it out"
            )
    if recipe.pretraining is not None:
        raise UsageError("[pretraining]: a student is not pre-trained; leave the section out")
    if recipe.model.beside:
        raise UsageError(
            f"a student is a transformer alone, and the recipe has other readers: {', '.join(recipe.model.beside)}; "
            "leave out `model.counting`, `model.body` and `model.readers`"
        )


def _all_texts(texts: Sequence[Documents], labelled: Table | None) -> Unlabelled:
    """Return the texts of all sources, each text once."""
    documents = list(texts)
    if labelled is not None:
        documents.insert(0, Documents(texts=labelled.frame["text"], source=labelled.source))
    if not documents:
        raise UsageError(
            "there are no texts to learn from; name text files or tables, or give the teacher's training table as "
            "`labelled=`"
        )
    return admitted(documents)


def _table(documents: Documents, teacher: Teacher) -> Table:
    frame = pl.DataFrame({"text": documents.texts}).with_row_index("row", offset=1)
    inputs = teacher.inputs
    column = "text" if inputs is None else inputs.texts[0]
    return Table(frame=frame, source=documents.source, text_column=column, label_column=None, inputs=inputs)
