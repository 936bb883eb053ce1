"""The files of the readers beside the transformer, in model folders and exported models.

The counting reader has two files beside `config.json`. A reader of another package has a folder `readers/NAME`.
"""

from collections.abc import Mapping
from pathlib import Path

from glassformer.errors import GlassformerError
from glassformer.prediction.answering_config import TRANSFORMER, AnsweringConfig
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.counting.reader import NGRAMS_FILE, WEIGHTS_FILE, CountingReader, n_outputs
from glassformer.readers.reader import BUILT_IN, Reader, installed
from glassformer.readers.rules.reader import RulesReader

COUNTING_FILES = (NGRAMS_FILE, WEIGHTS_FILE)
READERS_FOLDER = "readers"


def save_readers(folder: Path, readers: Mapping[str, Reader]) -> None:
    """Write the files of all readers into a folder that has none yet."""
    for name, reader in readers.items():
        place = folder if name == "counting" else folder / READERS_FOLDER / name
        place.mkdir(parents=True, exist_ok=True)
        reader.save(place)


def files_of_readers(folder: Path) -> list[Path]:
    """Return the files of the readers of a folder, except for those of the counting reader."""
    return sorted(path for path in (folder / READERS_FOLDER).rglob("*") if path.is_file())


def read_readers(folder: Path, config: AnsweringConfig) -> dict[str, Reader]:
    """Read the readers beside the transformer that the model asks.

    Raises:
        UsageError: the package of a reader is not installed.
        GlassformerError: a file is missing or damaged, or does not match the model.
    """
    names = [name for name in config.weights if name != TRANSFORMER]
    return {name: _counting(folder, config) if name == "counting" else _beside(folder, name, config) for name in names}


def _counting(folder: Path, config: AnsweringConfig) -> CountingReader:
    reader, width = CountingReader.load(folder), config.target.width
    if reader.n_classes != width or len(reader.bias) != n_outputs(width, multilabel=config.target.multilabel):
        raise GlassformerError(
            f"{folder / WEIGHTS_FILE} does not match {NGRAMS_FILE} and config.json; copy the folder again"
        )
    return reader


def _beside(folder: Path, name: str, config: AnsweringConfig) -> Reader:
    kind, place = kind_of_reader(name), folder / READERS_FOLDER / name
    if not place.is_dir():
        raise GlassformerError(f"{place} is missing, which config.json names; copy the whole folder again")
    reader = kind.load(place)
    expected = (config.target.width, 1 if config.inputs is None else len(config.inputs.texts))
    found = (len(getattr(reader, "bias", ())), getattr(reader, "texts", expected[1]))
    if name in BUILT_IN and found != expected:
        raise GlassformerError(f"{place} does not match config.json; copy the whole folder again")
    return reader


def kind_of_reader(name: str) -> type[Reader]:
    """Return the class of a reader beside the transformer. Raises `UsageError` if no package adds it."""
    if name == "encoder":
        from glassformer.readers.encoder.prediction import EncoderReader  # it needs PyTorch

        return EncoderReader
    return _OURS[name] if name in _OURS else installed(name)


_OURS: Mapping[str, type[Reader]] = {"counting": CountingReader, "body": BodyReader, "rules": RulesReader}
