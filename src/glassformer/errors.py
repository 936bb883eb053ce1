"""Errors for users. A message says what was wrong, where, and what to do.

The command line prints the message without a traceback, and exits with the `exit_code` of the class.
"""

import errno
import re
import reprlib
from collections.abc import Sequence

_LONGEST = 80
_NAMED: dict[str, str] = {}
_SECRET = re.compile(
    r"(?:\w:|/)/?[^\s/:]*(:(?!\d+/)\S+@)|\b((?:password|passwd|pwd|token|sig|signature|secret|key)=)[^&#\s]{4,}",
    re.IGNORECASE,
)
"""A password after a user, or a value after `password=` and the like."""
_LONGEST_ADDRESS = 4_096
# Messages of torch's allocators, oneDNN, CUDA's libraries, C++, Rust and the loader of libraries. With "a primitive
# descriptor", oneDNN means that it does not support an operation.
_NO_MEMORY = re.compile(
    r"can't allocate memory|[Cc]annot allocate memory|failed to allocate|not enough memory|out of memory|bad_alloc"
    r"|ALLOC_FAILED|could not create a (?:memory|primitive(?! descriptor))|failed to map segment"
    r"|can't spawn worker thread"
)
_NO_THREAD = re.compile(r"can't start new thread|failed to spawn .*thread|ThreadPoolBuildError")
"""Messages of Python, Polars and tokenizers."""
_RUST = ("polars", "pyo3_runtime")  # the modules of its errors
_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = _LONGEST


def name_as(words: str, name: str) -> None:
    """From now on, messages say `name` in place of `words`: a private file, or an address with a password."""
    _NAMED[words] = name


def hide_secrets(argument: str) -> None:
    """From now on, messages leave out what looks like a password, also in an address that is mistyped or misplaced."""
    for found in _SECRET.finditer(argument[:_LONGEST_ADDRESS]):
        if found[1]:
            name_as(found[1], ":…@")
        else:
            name_as(found[0], f"{found[2]}…")


def as_named(text: str) -> str:
    """Return a message with the names that were given by `name_as`."""
    for words, name in _NAMED.items():
        text = text.replace(words, name)
    return text


def brief(text: str) -> str:
    """What others wrote, for a message: its beginning, on one line."""
    beginning = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return beginning if beginning.isprintable() else repr(beginning)[1:-1]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python, torch (on any device) or another library ran out of memory."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or _says(error, _NO_MEMORY)


def is_out_of_threads(error: BaseException) -> bool:
    """Whether Python or another library could not start a thread."""
    return _says(error, _NO_THREAD)


def _says(error: BaseException, words: re.Pattern[str]) -> bool:
    of_library = isinstance(error, OSError | RuntimeError | ImportError) or type(error).__module__.startswith(_RUST)
    return of_library and words.search(str(error)) is not None


def brief_value(value: object) -> str:
    """A value for a message: the beginning of how Python writes it."""
    try:
        return brief(_BRIEF.repr(value))
    except Exception:  # a class of another's; an integer of thousands of digits
        return f"a value of type {type(value).__name__}"


def words_of(error: BaseException, *, most: int = 300) -> str:
    """What another program says in an error, on one line: its beginning."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line if len(line) <= most else f"{line[:most]}…"


class GlassformerError(Exception):
    """The work failed: for example, a folder is damaged. The command line exits with 1.

    Args:
        message: a sentence or two that say what was wrong, where, and what to do.
    """

    exit_code = 1

    def __init__(self, message: str = "", listing: Sequence[str] = ()) -> None:
        self.message = as_named(message)
        self.listing = tuple(map(as_named, listing))
        super().__init__("\n".join([self.message, *self.listing]))

    @property
    def typed(self) -> Sequence[str]:
        """The listing, for a terminal: what a person may copy from it is quoted as a shell needs it."""
        return self.listing


class UsageError(GlassformerError):
    """The request is wrong: for example, a setting, a file, a column or a recipe. The command line exits with 2."""

    exit_code = 2


class InputError(UsageError, ValueError):
    """Texts, labels or weights that cannot be used. It is also a `ValueError`, as scikit-learn expects."""


def quoted(value: object, *, most: int = 60) -> str:
    """Format a name or value of the user for a message: in quotes, on one line, and shortened if it is long."""
    text = str(value)
    return repr(text if len(text) <= most else f"{text[: most - 1]}…")
