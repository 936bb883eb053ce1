"""What an ONNX file asks for, read before ONNX Runtime sees it: only what an export needs, and nothing that never ends.

The file is a message of protobuf. Of its fields, few matter here, so that no package is needed to read them. See
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto for their numbers.
"""

import math
from collections.abc import Iterator

MOST_BYTES = 1 << 30
_MOST_NODES, _MOST_TENSORS = 50_000, 50_000
_MOST_OF_ONE = 100  # attributes of a step, dimensions of a weight
_NAMES = """
Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast CastLike Ceil Clip Concat Constant ConstantOfShape
Conv ConvInteger Cos CumSum DequantizeLinear Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand
EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater
GreaterOrEqual HardSigmoid HardSwish Identity InstanceNormalization IsInf IsNaN LSTM LayerNormalization LeakyRelu
Less LessOrEqual Log LogSoftmax MatMul MatMulInteger Max MaxPool Mean Min Mish Mod Mul Neg NonZero Not OneHot Or
PRelu Pad Pow QLinearMatMul QuantizeLinear RMSNormalization RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSumExp
ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape ReverseSequence RotaryEmbedding
Round ScatterElements ScatterND Selu Shape Sigmoid Sign Sin Size Slice Softmax Softplus Softsign Split Sqrt Squeeze
Sub Sum Swish Tan Tanh Tile TopK Transpose Trilu Unsqueeze Where Xor
"""
_OPERATORS = frozenset(_NAMES.split())
"""Arithmetic and shapes. Loop, If and Scan are missing: they can run for ever, and no design is exported with them."""
_OF_ONNX_RUNTIME = frozenset({"DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"})
"""What weights of one byte become, in the domain `com.microsoft`."""

Field = tuple[int, "int | memoryview"]


class RefusedGraphError(ValueError):
    """What the graph asks for is not what an export holds."""


def check_graph(model: bytes) -> None:
    """Raise `RefusedGraphError` if the model could do else than compute logits in bounded time.

    The message completes "it ...".
    """
    graphs = []
    for number, value in _fields(memoryview(model)):
        if number in (20, 25):
            raise RefusedGraphError("has functions or steps of training of its own")
        if number == 7:
            graphs.append(_part(value))
    if not graphs:
        raise RefusedGraphError("holds no graph")
    nodes, tensors, elements = 0, 0, 0
    for number, value in (field for graph in graphs for field in _fields(graph)):
        if number == 1:
            nodes += 1
            for tensor in _tensors_of(_part(value)):
                tensors, elements = tensors + 1, elements + _elements(tensor)
        elif number == 5:
            tensors, elements = tensors + 1, elements + _elements(_part(value))
        elif number == 15:
            raise RefusedGraphError("has sparse weights")
        if nodes > _MOST_NODES or tensors > _MOST_TENSORS:
            raise RefusedGraphError(f"has more than {_MOST_NODES:,} steps or weights")
    if elements > 2 * len(model):  # two of four bits in a byte
        raise RefusedGraphError("speaks of more weights than it holds")


def _tensors_of(node: memoryview) -> Iterator[memoryview]:
    """Yield the tensors among the attributes of a node."""
    domain = operator = ""
    attributes = []
    for number, value in _fields(node):
        if number == 4:
            operator = str(_part(value), "utf-8", "replace")
        elif number == 7:
            domain = str(_part(value), "utf-8", "replace")
        elif number == 5:
            attributes.append(_part(value))
        if len(attributes) > _MOST_OF_ONE:
            raise RefusedGraphError(f"has a step of more than {_MOST_OF_ONE} attributes")
    known = {"": _OPERATORS, "ai.onnx": _OPERATORS, "com.microsoft": _OF_ONNX_RUNTIME}
    if operator not in known.get(domain, ()):
        shown = f"{domain}.{operator}" if domain else operator
        raise RefusedGraphError(f"asks for the operator {shown[:60]!r}, which no export of glassformer needs")
    for number, value in (field for attribute in attributes for field in _fields(attribute)):
        if number in (6, 11):
            raise RefusedGraphError(f"has a graph inside {operator}")
        if number in (22, 23):
            raise RefusedGraphError("has sparse weights")
        if number in (5, 10):
            yield _part(value)


def _elements(tensor: memoryview) -> int:
    """Return how many elements a tensor has by its shape."""
    shape: list[int] = []
    for number, value in _fields(tensor):
        if number == 1:
            shape += [value] if isinstance(value, int) else _numbers(value[: 10 * _MOST_OF_ONE])
        elif number == 13 or (number == 14 and value):
            raise RefusedGraphError("keeps weights in another file")
        if len(shape) > _MOST_OF_ONE:  # their product would have millions of digits
            raise RefusedGraphError(f"has a weight of more than {_MOST_OF_ONE} dimensions")
    return math.prod(shape)


def _part(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise RefusedGraphError("is damaged")
    return value


def _fields(message: memoryview) -> Iterator[Field]:
    """Yield the number of each field with its number or its bytes."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        kind = key & 7
        value: int | memoryview
        if kind == 0:
            value, at = _number(message, at)
        else:
            size, at = _number(message, at) if kind == 2 else ({1: 8, 5: 4}.get(kind, len(message) + 1), at)
            value, at = message[at : at + size], at + size
        if at > len(message):
            raise RefusedGraphError("is damaged or cut short")
        yield key >> 3, value


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins there, in seven bits a byte, and where it ends."""
    number = 0
    for place in range(10):
        if at + place >= len(message):
            break
        number |= (message[at + place] & 127) << (7 * place)
        if message[at + place] < 128:
            return number, at + place + 1
    raise RefusedGraphError("is damaged or cut short")


def _numbers(message: memoryview) -> list[int]:
    numbers, at = [], 0
    while at < len(message):
        number, at = _number(message, at)
        numbers.append(number)
    return numbers
