"""Version 2 of the Open Inference Protocol, which KServe, MLServer and Triton speak, beside our own API.

Each input of a model is a tensor, and so is each column that answers add to a table. The rows are the only dimension.
Tensors are also read as bytes behind the JSON, as Triton's client sends them, but always sent as JSON.
"""

import json
import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError

from glassformer import __version__
from glassformer.data.inputs import Number
from glassformer.data.wording import counted, label_cell
from glassformer.errors import UsageError, brief, brief_value, quoted
from glassformer.serving.served_model import ServedModel, named
from glassformer.serving.service import ERRORS, Service, unless_closed
from glassformer.serving.shapes import BodyOfRequest, Name
from glassformer.serving.watching import note

_NUMPY = {
    "BOOL": "?", "UINT8": "u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8", "INT8": "i1", "INT16": "<i2",
    "INT32": "<i4", "INT64": "<i8", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8",
}  # fmt: skip
Datatype = Literal[
    "BYTES", "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64"
]
_DATATYPES = {str: "BYTES", float: "FP64", bool: "BOOL"}


class TensorSent(BodyOfRequest):
    """A tensor: `shape` is [rows] or [rows, 1]."""

    name: str
    shape: list[int] = Field(min_length=1, fail_fast=True)
    datatype: Datatype
    data: list[Any] | None = Field(default=None, description="Missing if the tensor is sent as bytes.")
    parameters: dict[str, Any] = Field(default={})


class Wanted(BodyOfRequest):
    """An output that is wanted."""

    name: str
    parameters: dict[str, Any] = Field(default={})


class InferRequest(BodyOfRequest):
    """A tensor for each input of the model."""

    id: Name | None = None
    inputs: list[TensorSent] = Field(min_length=1, fail_fast=True)
    outputs: list[Wanted] = Field(default=[], fail_fast=True, description="Default: all outputs of the model.")
    parameters: dict[str, Any] = Field(default={})


class Described(BaseModel):
    """A tensor without its data. −1 stands for any number of rows."""

    name: str
    datatype: Datatype
    shape: list[int]


class ModelMetadata(BaseModel):
    """What a model reads, and what it answers."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[Described]
    outputs: list[Described]


class TensorOut(Described):
    """A tensor. Null stands where a text is empty."""

    data: list[str | float | bool | None]


class InferResponse(BaseModel):
    """The outputs of a model."""

    model_name: str
    id: str | None = None
    outputs: list[TensorOut]


def add_open_inference(app: FastAPI, service: Service) -> None:
    """Add the routes."""
    body = {"content": {"application/json": {"schema": _inlined(InferRequest.model_json_schema())}}, "required": True}

    @app.get("/v2")
    async def server() -> dict[str, Any]:
        """Say what serves."""
        return {"name": "glassformer", "version": __version__, "extensions": []}

    @app.get("/v2/health/live")
    async def live() -> dict[str, bool]:
        """Say that the server runs."""
        return {"live": True}

    @app.get("/v2/health/ready", responses={503: ERRORS[503]})
    async def ready() -> dict[str, bool]:
        """Say whether a request would be answered now."""
        service.worker.refuse_if_full(503)
        return {"ready": True}

    @app.get("/v2/models/{name:path}/ready", responses=ERRORS)
    async def model_ready(name: str) -> dict[str, Any]:
        """Say whether a request to this model would be answered now."""
        service.worker.refuse_if_full(503)
        return {"name": named(service.models, name).name, "ready": True}

    @app.post(
        "/v2/models/{name:path}/infer",
        responses=ERRORS,
        response_model=InferResponse,
        response_model_exclude_unset=True,
        openapi_extra={"requestBody": body},
    )
    async def infer(request: Request, name: str) -> dict[str, Any]:
        """Answer rows, like `/predict`."""
        model = named(service.models, name)
        asked = _request(await request.body(), request.headers.get("inference-header-content-length"))
        wanted = _outputs(model, [output.name for output in asked.outputs])
        texts = [model.read(row) for row in _rows(model, asked.inputs)]
        service.limits.check_texts(texts)
        note(request, model.name, texts)
        answers = await unless_closed(request, service.worker.answer(model, texts))
        service.drift.add(model, answers)
        outputs = [
            described | {"shape": [len(texts)], "data": [_cell(answer, described) for answer in answers]}
            for described in wanted
        ]
        return {"model_name": model.name, "outputs": outputs} | ({} if asked.id is None else {"id": asked.id})

    @app.get("/v2/models/{name:path}", responses=ERRORS, response_model=ModelMetadata)
    async def metadata(name: str) -> dict[str, Any]:
        """Describe the inputs and the outputs of a model."""
        model = named(service.models, name)
        inputs = [_tensor(name, "FP64" if number else "BYTES") for name, number in _inputs(model).items()]
        about = {"name": model.name, "versions": [], "platform": "glassformer"}
        return about | {"inputs": inputs, "outputs": _outputs(model, [])}


def _inlined(schema: dict[str, Any]) -> Any:
    """Return a schema without references, which would point to where the description of an API has nothing."""
    parts = schema.pop("$defs", {})

    def inlined(part: Any) -> Any:
        if isinstance(part, dict):
            named = part.get("$ref")
            return inlined(parts[named.rpartition("/")[2]]) if named else {key: inlined(part[key]) for key in part}
        return [inlined(each) for each in part] if isinstance(part, list) else part

    return inlined(schema)


def _tensor(name: str, datatype: str) -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": [-1]}


def _inputs(model: ServedModel) -> dict[str, bool]:
    """Return the name of each input, and whether it is a number."""
    inputs = model.predictor.trained.config.inputs
    if inputs is None:
        return {"text": False}
    return dict.fromkeys(inputs.texts, False) | {column.name: isinstance(column, Number) for column in inputs.columns}


def _outputs(model: ServedModel, wanted: Sequence[str]) -> list[dict[str, Any]]:
    """Describe the outputs of these names. Without names, describe all."""
    names = model.columns
    if unknown := [name for name in wanted if name not in names]:
        raise UsageError(f"`outputs`: the model {model.name} has no {quoted(unknown[0])}, only {', '.join(names)}")
    if len(set(wanted)) < len(wanted):  # a short request could ask for gigabytes
        raise UsageError("`outputs`: an output is named twice; name each once")
    return [_tensor(name, _DATATYPES[names[name]]) for name in wanted or names]


def _cell(answer: Mapping[str, Any], described: Mapping[str, Any]) -> Any:
    """Return the value of an output for an answer: as in a table of answers."""
    name = described["name"]
    probs = answer.get("probabilities") or {}
    value = answer[name] if name in answer else probs.get(name.removeprefix("probability_"))
    return value if value is None or described["datatype"] != "BYTES" else label_cell(value)


def _request(body: bytes, length: str | None) -> InferRequest:
    """Read the JSON of a request, and the bytes behind it, whose header says where they begin."""
    if length is not None and not (re.fullmatch(r"[0-9]{1,20}", length) and int(length) <= len(body)):
        raise UsageError("`Inference-Header-Content-Length` is the number of bytes of JSON before those of the tensors")
    end = len(body) if length is None else int(length)
    try:
        request = InferRequest.model_validate(json.loads(body[:end]))
    except ValidationError as error:
        raise RequestValidationError([each | {"loc": ("body", *each["loc"])} for each in error.errors()]) from error
    except (ValueError, RecursionError) as error:  # it may be nested too deep, or not be Unicode
        raise UsageError(f"the body is not JSON: {getattr(error, 'msg', 'it cannot be read')}") from error
    for tensor in request.inputs:
        if (size := tensor.parameters.get("binary_data_size")) is not None:
            if type(size) is not int or not 0 <= size <= len(body) - end:
                named = brief(tensor.name)
                raise UsageError(f"`{named}`: `binary_data_size` is the number of its bytes behind the JSON")
            tensor.data, end = list(_unpacked(tensor, body[end : end + size])), end + size
    if end < len(body):
        them = "it" if len(body) - end == 1 else "them"
        unclaimed = counted(len(body) - end, "byte follows", "bytes follow")
        raise UsageError(f"{unclaimed} the JSON, and no `binary_data_size` claims {them}")
    return request


def _unpacked(tensor: TensorSent, content: bytes) -> Iterator[Any]:
    """Yield the values of a tensor. Strings stand behind their lengths."""
    try:
        if tensor.datatype != "BYTES":
            yield from np.frombuffer(content, _NUMPY[tensor.datatype]).tolist()
            return
        at = 0
        while at < len(content):
            (length,) = struct.unpack_from("<I", content, at)
            at += 4 + length
            if at > len(content):
                raise ValueError("the last string is not whole")
            yield content[at - length : at].decode()
    except (struct.error, ValueError) as error:
        raise UsageError(f"`{brief(tensor.name)}`: its bytes are no {tensor.datatype}, or no UTF-8") from error


def _rows(model: ServedModel, tensors: Sequence[TensorSent]) -> list[Any]:
    """Return the rows that the tensors hold: texts, or of a model with several inputs a value for each by its name."""
    inputs, sent = _inputs(model), {tensor.name: tensor for tensor in tensors}
    if len(sent) < len(tensors) or set(sent) != set(inputs):
        raise UsageError(f"`inputs`: the model {model.name} reads {', '.join(inputs)}; send a tensor for each")
    columns = {name: _values(tensor, number=inputs[name]) for name, tensor in sent.items()}
    if len({len(values) for values in columns.values()}) > 1:
        raise UsageError("`inputs`: the tensors have different numbers of rows")
    if model.predictor.trained.config.inputs is None:
        return columns["text"]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _values(tensor: TensorSent, *, number: bool) -> list[Any]:
    if tensor.datatype == "BOOL" or (not number and tensor.datatype != "BYTES"):
        raise UsageError(f"`{tensor.name}`: the datatype is {'FP64' if number else 'BYTES'}, not {tensor.datatype}")
    if tensor.data is None:
        raise UsageError(f"`{tensor.name}`: `data` is missing")
    values = [each[0] if isinstance(each, list) and len(each) == 1 else each for each in tensor.data]
    if tensor.shape[1:] not in ([], [1]) or tensor.shape[0] != len(values):
        raise UsageError(
            f"`{tensor.name}`: the shape {brief_value(tensor.shape)} does not fit {counted(len(values), 'value')}; it "
            "is [rows] or [rows, 1]"
        )
    fits = _fits(tensor.datatype)
    with np.errstate(over="ignore"):
        odd = next(
            (row for row, each in enumerate(values, 1) if not fits(each) and not (number and each is None)), None
        )
    if odd is not None:
        raise UsageError(f"`{tensor.name}`: value {odd:,} is no {tensor.datatype}")
    return values


def _fits(datatype: str) -> Callable[[Any], bool]:
    """Return what says whether a value of JSON is one of this datatype, rounded. All of FP hold infinity and NaN."""
    if datatype == "BYTES":
        return lambda value: isinstance(value, str)
    kind = np.dtype(_NUMPY[datatype])
    if kind.kind == "f":
        of_kind = partial(_is_float, kind)
    else:
        limits = np.iinfo(kind)
        of_kind = partial(_is_whole, limits.min, limits.max)
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and of_kind(value)


def _is_float(kind: np.dtype[Any], value: float) -> bool:
    try:
        return not math.isfinite(value) or math.isfinite(kind.type(value))
    except OverflowError:  # a whole number above all floats
        return False


def _is_whole(least: int, most: int, value: float) -> bool:
    return value % 1 == 0 and least <= value <= most
