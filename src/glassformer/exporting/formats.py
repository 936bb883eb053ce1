"""The formats in which a classifier can be exported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from glassformer.exporting.onnx import write_onnx
from glassformer.exporting.transformers_folder import write_transformers
from glassformer.exporting.web import write_web


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
