"""Export a model folder: read it, write it in one of several formats, completely or not at all."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from safetensors import SafetensorError

from glassformer import __version__
from glassformer.data.checksums import check_nothing_added, write_sums
from glassformer.data.files import check_link, folder_written_aside, why_not_written
from glassformer.data.inputs import example_of
from glassformer.data.model_marks import RECORD_FILE
from glassformer.errors import GlassformerError, UsageError
from glassformer.exporting.onnx import write_onnx
from glassformer.exporting.transformers_folder import write_transformers
from glassformer.exporting.web import write_web
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.prediction.shipped import shown


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of exported models.

    Attributes:
        write: writes a model, which is on the CPU and in evaluation mode, into an empty folder. It returns sentences
            for the user: what was left out, and how the folder was checked. It raises `UsageError` if the format
            cannot express the model, and `OSError` or `SafetensorError` if the files cannot be written.
        use: what to do next: a command or a sentence with `{out}` and `{text}`, or Python with `{path!r}`.
        in_browsers: whether browsers run the model. Then `write` also takes `name`, and `runtime` (see `write_web`).
    """

    purpose: str
    write: Callable[..., list[str]]
    use: str
    in_browsers: bool = False


FORMATS: dict[str, Format] = {
    "transformers": Format(
        purpose="A folder that the library transformers loads by itself, to run or fine-tune the model there.",
        write=write_transformers,
        use='in Python: transformers.pipeline("text-classification", model={path!r}, truncation=True)',
    ),
    "onnx": Format(
        purpose="A folder that predict, explain and serve read without PyTorch.",
        write=partial(write_onnx, precision="float32"),
        use="glassformer predict {out} {text}",
    ),
    "onnx-int8": Format(
        purpose="The same, smaller: weights of one byte, if they give the same answers.",
        write=partial(write_onnx, precision="int8"),
        use="glassformer predict {out} {text}",
    ),
    "web": Format(
        purpose="A page that answers in the browser, without a server and offline.",
        write=write_web,
        use="open {out}/index.html in a browser",
        in_browsers=True,
    ),
}
"""The formats by name."""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What `export` wrote.

    Attributes:
        notes: sentences for the user: what was left out, and how the folder was checked.
    """

    files: dict[str, int]
    notes: list[str]
    example: str


def export(model: Path, out: Path, *, to: str, overwrite: bool = False, runtime: Path | None = None) -> Exported:
    """Write the model of a model folder into the folder `out`, in one of `FORMATS`.

    Args:
        runtime: the folder of ONNX Runtime Web, for the format `web`.

    Raises:
        UsageError: there is no such format, or no such model; the format cannot express the model; `runtime` is not
            what it should be; or `out` cannot be written to or must not be replaced.
        GlassformerError: the model folder is damaged, the disk is full, or the written folder failed its check.
    """
    if to not in FORMATS:
        listing = [f"{name}: {known.purpose}" for name, known in FORMATS.items()]
        raise UsageError(f"`format={to!r}`: there is no such format; there is {', '.join(FORMATS)}", listing)
    if runtime is not None and not FORMATS[to].in_browsers:
        raise UsageError("`runtime=` is for `format='web'`; leave it out")
    check_out(out, overwrite=overwrite)
    trained = load_model(model, CLASSIFIER)
    given = {"name": model.absolute().name, "runtime": runtime} if FORMATS[to].in_browsers else {}
    try:
        with folder_written_aside(out) as aside:
            notes = FORMATS[to].write(trained, aside, **given)
            record = {"format": to, "glassformer": __version__}
            (aside / RECORD_FILE).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            mode = (aside / RECORD_FILE).stat().st_mode
            write_sums(aside)
            files = sorted(path for path in aside.rglob("*") if path.is_file())
            for path in files:
                path.chmod(mode)  # some libraries make files that only their owner can read
                with path.open("rb+") as file:
                    os.fsync(file.fileno())  # some disks report only now that they are full
            sizes = {str(path.relative_to(aside)): path.stat().st_size for path in files}
    except UsageError as error:
        raise UsageError(f"{shown(model)} cannot be exported as {to}: {error}") from error
    except (OSError, SafetensorError) as error:
        needed = sum(tensor.nbytes for tensor in trained.model.state_dict().values())
        raise GlassformerError(f"the export could not be written: {why_not_written(out, error, needed)}") from error
    return Exported(files=sizes, notes=notes, example=example_of(trained.config.inputs))


def check_out(out: Path, *, overwrite: bool) -> None:
    """Refuse a path that no folder can be written to, and to lose files.

    Raises:
        UsageError: `out` has no name, is a file or a link that leads nowhere, or holds files that must not be replaced.
    """
    if out.name in ("", ".."):
        raise UsageError(f"`out=`: {out} is replaced as a whole; name a folder in it, such as {out / 'exported'}")
    check_link(out)
    if out.exists() and not out.is_dir():
        raise UsageError(f"`out=`: {out} is a file; name a folder")
    if not out.is_dir() or not any(out.iterdir()):
        return
    if not (out / RECORD_FILE).is_file():
        raise UsageError(f"{out} is a folder with other files in it; choose a folder that is new or empty")
    if not overwrite:
        raise UsageError(f"{out} already holds an export; choose another folder, or `overwrite=True` to replace it")
    check_nothing_added(out)
