"""Read a model again when its folder changes, while the model of before answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi.concurrency import run_in_threadpool

from glassformer.errors import GlassformerError
from glassformer.serving.served_model import ServedModel, version_of

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
        seen = {name: model.version for name, model in self.models.items()}
        done = dict(seen)
        while True:
            await asyncio.sleep(_LOOK_AGAIN)
            for name, model in list(self.models.items()):
                before, seen[name] = seen[name], version_of(model.folder)
                if seen[name] == before != done[name]:  # all of it has been copied, as nothing changes any more
                    done[name] = seen[name]
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
            self.models[model.name] = new
            self.failed.pop(model.name, None)
            self.tell(f"the folder of {model.name} has changed; the new model answers from now on")


def _again(model: ServedModel) -> ServedModel:
    """Read a model again, and see that it answers."""
    new = ServedModel.load(model.name, model.folder, device=model.device)
    new.answers(["a text"])
    return new
