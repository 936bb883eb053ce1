"""Read a model again when its folder changes, while the model of before answers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from fastapi.concurrency import run_in_threadpool

from glassformer.errors import GlassformerError
from glassformer.serving.served_model import ServedModel, Version, version_of

_LOOK_AGAIN = 1.0  # seconds


@dataclass(kw_only=True)
class Reloader:
    """Looks at the folders of models, and swaps a model whose folder has changed.

    A request keeps the model that it began with. If the new model cannot be read, the old one goes on.
    """

    models: dict[str, ServedModel]
    tell: Callable[[str], None]
    failed: dict[str, str] = field(default_factory=dict)

    async def watch(self) -> None:
        """Look once a second, until this is cancelled."""
        seen, done = dict[Path, Version](), dict[Path, Version]()
        while True:
            await asyncio.sleep(_LOOK_AGAIN)
            for model in list(self.models.values()):
                folder = model.folder
                before, seen[folder] = seen.get(folder), version_of(folder)
                if seen[folder] == before != done.setdefault(folder, model.version):  # all of it has been copied
                    done[folder] = seen[folder]
                    await self._reload(model)

    async def _reload(self, model: ServedModel) -> None:
        try:
            new = await run_in_threadpool(_again, model)
        except Exception as error:  # whatever it is, the old model still answers
            reason = error.message if isinstance(error, GlassformerError) else f"{type(error).__name__}: {error}"
            self.failed[model.name] = reason
            self.tell(
                f"the folder of {model.name} has changed and cannot be read; the model of before answers: {reason}"
            )
        else:
            if (now := self.models[model.name]).folder != model.folder:  # another one has taken its place meanwhile
                return
            self.models[model.name] = replace(new, asked=now.asked)
            self.failed.pop(model.name, None)
            self.tell(f"the folder of {model.name} has changed; the new model answers from now on")


def _again(model: ServedModel) -> ServedModel:
    """Read a model again, and see that it answers."""
    new = ServedModel.load(model.name, model.folder, device=model.device)
    new.answers(["a text"])
    return new
