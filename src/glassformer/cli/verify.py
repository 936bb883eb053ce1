"""`glassformer verify`: compare the files of a folder with their checksums."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.output import print_json, say, show
from glassformer.data.wording import counted, listed
from glassformer.errors import GlassformerError
from glassformer.prediction.shipped import folder_of
from glassformer.prediction.shipped import shown as name_of

_SHOWN = 20  # files; --json shows all


def verify(
    folder: Annotated[
        Path,
        typer.Argument(
            callback=folder_of, help="A model, an export, word vectors, an unfinished run, or answers to shards."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare the files of a folder with the checksums that were written with them."""
    from glassformer.prediction.verify import verify as verified

    found = verified(folder)
    if json:
        print_json(asdict(found))
    elif not found.damaged:
        show(f"{counted(len(found.whole), 'file')} as written")
    if found.unknown and not json:
        say(f"without a checksum, so not compared: {listed(found.unknown, _SHOWN)}")
    if found.damaged:
        changed = [name for name in found.damaged if name not in found.missing]
        parts = [f"changed since it was written: {listed(changed, _SHOWN)}"] if changed else []
        parts += [f"missing: {listed(found.missing, _SHOWN)}"] if found.missing else []
        advice = "Copy the folder again"
        if changed:
            advice = (
                f"If you did not change {'it' if len(changed) == 1 else 'them'}, do not use the folder: copy it again"
            )
        raise GlassformerError(f"{name_of(folder)}: {'; '.join(parts)}. {advice}")
