"""What a stage of alignment starts from: a causal language model, and the prompts that it is to answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.hints import is_file
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.alignment.stage_run import Start


def open_start(folder: Path) -> Start:
    """Read a causal language model."""
    from glassformer.alignment.stage_run import Start
    from glassformer.prediction.model_folder import LANGUAGE_MODEL, load_model

    start = Start(trained=load_model(folder, LANGUAGE_MODEL), folder=folder)
    _ = start.shape  # refuse a model that is not causal before opening anything else
    return start


def prompts_of(start: Start, given: Path | None) -> tuple[list[str], str]:
    """Return the prompts and the name of their file.

    Without a given file, they are the prompts of the records that the model was fine-tuned on. A model that was only
    pre-trained, or steered from the empty prompt, has the empty prompt and no file.
    """
    from glassformer.alignment.pairs import read_prompts
    from glassformer.alignment.stage_run import records_fingerprint

    if given is not None:
        return read_prompts(given), str(given)
    config = start.trained.config
    if config.init is None or config.records.fingerprint == records_fingerprint([""]):
        return [""], ""
    source = config.records.source
    if not is_file(source):
        gone = f"the records that it learned from, {source}, are not there" if source else "it names no file of prompts"
        raise UsageError(f"{start.folder}: {gone}; name one with --prompts")
    return read_prompts(Path(source)), source
