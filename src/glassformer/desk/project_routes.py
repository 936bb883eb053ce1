"""The routes about the project: its table, its columns, its classes, its rounds and what they brought."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse

from glassformer.data.addresses import local_path
from glassformer.data.parts import PartError, with_part
from glassformer.desk.classes import add_classes, class_notes, move_class, place_class
from glassformer.desk.learning_chart import learning_chart
from glassformer.desk.measuring import asked_of, automatic, automatic_share, by_round, measured, swayed
from glassformer.desk.people import agreement, people_of
from glassformer.desk.project import Project
from glassformer.desk.rounds import Rounds
from glassformer.desk.rules import checked
from glassformer.desk.shapes import ClassChanged, ColumnsChosen, Named, Settings
from glassformer.errors import UsageError, quoted
from glassformer.prediction.folder_names import REPORT_FILE
from glassformer.serving.guard import OWN_PAGE
from glassformer.serving.limits import RefusedError
from glassformer.serving.served_model import ServedModel

TABLE_PATH = "/desk/table"
_NOT_SHOWN = ("aside", "curve", "batch")  # of the record of a round
_OF_LABELLING = ("task", "levels", "panel", "ordered", "sureness", "mistake")
_LONGEST_PART = 2_000  # characters: of an archive, the path of a file in it
_LONGEST_NAME = 200  # bytes; most file systems allow 255, and a file that is being written has a longer name


def add_opening(app: FastAPI, asked: Asked) -> None:
    """Add the routes about the table."""
    project = asked.project

    @app.post(TABLE_PATH)
    async def table(
        request: Request,
        name: Annotated[str, Query(max_length=255)],
        part: Annotated[str | None, Query(max_length=_LONGEST_PART, description="A sheet, or another part.")] = None,
    ) -> dict[str, Any]:
        """Take the table that is sent."""
        content = await request.body()
        return await run_in_threadpool(asked.take, name, part, content)

    @app.get("/desk/columns")
    def columns() -> list[dict[str, Any]]:
        """Return the columns of the table with some of their values."""
        return project.columns()

    @app.post("/desk/columns")
    def choose(body: ColumnsChosen) -> dict[str, Any]:
        """Read the table with these columns."""
        try:
            project.read(**body.model_dump(), without_labels=body.label is None)
        except UsageError as error:
            raise UsageError(in_page_words(str(error))) from error
        asked.models.pop("desk", None)  # it learned other columns
        return asked.state()


def add_project(app: FastAPI, asked: Asked) -> None:
    project, models = asked.project, asked.models

    @app.get("/desk/state")
    def state() -> dict[str, Any]:
        """Describe the project: what was found, the classes, how much is labelled, the rounds."""
        return asked.state()

    @app.post("/desk/classes")
    def classes(body: ClassChanged) -> dict[str, Any]:
        """Add a class, put it in its place, or give all texts of it, or of all classes below a level, another one."""
        names, labelling = project.store.classes, project.store.labelling
        if body.before is not None and body.to is not None:
            raise UsageError("`before` puts a class in its place, and `to` gives its texts another one; leave one out")
        if body.before is not None:
            place_class(project.store, labelling.name(body.name), body.before)
        elif body.to is None:
            add_classes(project.store, labelling.classes_of(labelling.name(body.name)))
        elif not any(labelling.is_among(name, body.name) for name in names):
            raise UsageError(f"there is no class {quoted(body.name)}")
        else:
            move_class(project.store, body.name, labelling.name(body.to), body.who)
        return asked.state()

    @app.post("/desk/people")
    def people(body: Named) -> dict[str, Any]:
        """Remember who labels, and whether suggestions are hidden from this person."""
        with project.store.change():  # two tabs may ask at once
            others = [name for name in project.store.facts.get("blind", []) if name != body.who]
            project.store.note(person=body.who, blind=[*others, body.who] if body.blind else others)
        return asked.state()

    @app.post("/desk/settings")
    def settings(body: Settings) -> dict[str, Any]:
        """Change how the project is labelled, which rules models learn, and which answers a person should see."""
        store, found = project.store, body.model_dump(exclude_none=True, exclude={"rules_before"})
        if "rules" in found:
            found["rules"] = checked(found["rules"], store.labelling, store.classes)  # patterns may take seconds
        with store.change():  # no round puts its model in the place of another one meanwhile
            if body.rules is not None and body.rules_before not in (None, store.facts.get("rules", "")):
                raise UsageError("the rules were changed elsewhere meanwhile; copy yours, and reload the page")
            store.note(**found)
            if (model := models.get("desk")) is not None:
                models["desk"] = replace(model, asked=asked_of(store.facts, model.predictor))
        return asked.state()


def add_rounds(app: FastAPI, asked: Asked) -> None:
    project, rounds = asked.project, asked.rounds

    @app.post("/desk/rounds")
    def begin() -> dict[str, Any]:
        """Train a model."""
        rounds.begin()
        return asked.state()

    @app.delete("/desk/rounds")
    def stop() -> dict[str, Any]:
        """Stop the training that runs."""
        rounds.stop()
        return asked.state()

    @app.get("/desk/report/{number}")
    def report(number: int) -> FileResponse:
        """Return the report of the model of a round."""
        path = project.model(number) / REPORT_FILE
        if not path.is_file():
            raise RefusedError(404, f"round {number} has no report")
        return FileResponse(path, media_type="text/html", headers=OWN_PAGE)

    @app.get("/desk/labelled")
    def labelled() -> FileResponse:
        """Return the labelled texts as a table."""
        path = project.write_labels()
        return FileResponse(path, filename=f"{Path(project.store.facts['table']).stem}-labelled{path.suffix}")


@dataclass(frozen=True)
class Asked:
    """What the routes are about. `models` holds the model of the last round as `desk`, if there is one.

    Attributes:
        in_words: see `create_app`.
    """

    project: Project
    rounds: Rounds
    models: MutableMapping[str, ServedModel]
    in_words: Callable[[str], str] = str

    def take(self, name: str, part: str | None, content: bytes) -> dict[str, Any]:
        """Put the file that was sent into the project."""
        if not re.fullmatch(r"[^/\\\0]+", name) or name.startswith(".") or len(os.fsencode(name)) > _LONGEST_NAME:
            raise UsageError(f"{quoted(name)} is no name of a file, or is too long; rename it")
        with TemporaryDirectory(dir=self.project.folder, prefix=".sent-") as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            try:
                self.project.take(local_path(with_part(path, part) if part else path))  # a database is read here
            except PartError as error:
                error.message = error.message.replace(f"{folder}/", "")
                raise
            except UsageError as error:
                raise UsageError(in_page_words(str(error)).replace(f"{folder}/", "")) from error
        self.models.pop("desk", None)  # it answered other texts
        return self.state()

    def state(self) -> dict[str, Any]:
        """Return what the page shows of the project."""
        store, facts = self.project.store, self.project.store.facts
        counts, rounds = store.counts(), store.rounds()
        scores, model = by_round(store, rounds), self.models.get("desk")
        return {
            "project": str(self.project.folder),
            **{name: facts.get(name) for name in ("table", "text", "label", "separator", "encoding")},
            **{name: facts.get(name, []) for name in ("other_texts", "columns", "lower", "blind")},
            **{name: getattr(store.labelling, name) for name in _OF_LABELLING},
            "found": [self.in_words(in_page_words(said)) for said in facts.get("found", [])],
            "fixed": self.project.has_decisions,
            "classes": [{"name": name, "texts": counts.get(name, 0)} for name in store.classes],
            "class_notes": class_notes(store),
            "texts": store.value("SELECT count(*) FROM texts"),
            "labelled": store.value("SELECT count(*) FROM current WHERE kind = 'label'"),
            "left": store.left(),
            "rules": facts.get("rules", ""),
            "rules_waiting": self.project.rules()[1],
            "running": {"said": self.rounds.said} if self.rounds.running else None,
            "missing": self.rounds.refusal(),
            "command": self.rounds.shown_command if facts.get("text") else None,
            "rounds": [
                {name: value for name, value in found.items() if name not in _NOT_SHOWN}
                | {"measured": scores[found["number"]].short if found["number"] in scores else None}
                for found in rounds
            ],
            "chart": learning_chart(rounds, scores, store.labelling.measure),
            "measured": measured(store),
            "swayed": swayed(store),
            "automatic": automatic(store),
            "review": {name: facts.get(name) for name in ("threshold", "wrong", "human")},
            "automatic_share": None if model is None else automatic_share(facts, model.predictor),
            "marks": model is not None and "review_below" in model.asked,
            "people": people_of(store),
            "twice": facts.get("twice", False),
            "agreement": agreement(store),
        }


_NAMES = {
    "text": "Texts",
    "label": "Labels",
    "task": "Each text gets",
    "columns": "All columns",
    "lower": "All columns",
    "levels": "Between two levels",
}
_VALUES = {
    "classes": "one class",
    "several": "several classes, or none",
    "ordered": "one of ordered classes",
    "number": "a number",
}
_SETTING = re.compile(rf"`({'|'.join(_NAMES)})=([^`]*)`")


def in_page_words(said: str) -> str:
    """Name the fields of the step Open in the place of settings: `text=` is “Texts” there."""
    return _SETTING.sub(_named, said)


def _named(found: re.Match[str]) -> str:
    value = found[2].strip("'\"")
    return f"“{_NAMES[found[1]]}”" + (f" ({_VALUES.get(value, value)})" if value else "")
