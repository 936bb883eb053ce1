from pathlib import Path

import torch

from glassformer.exporting import onnx
from tests.exporting.samples import SMALL, from_scratch
from tests.support import randomise, unchecked_shapes


def test_models_that_are_built_alike_get_graphs_of_their_own_weights(tmp_path: Path) -> None:
    trained = from_scratch()
    vocab_size, n_classes, width = trained.config.vocab_size, trained.config.n_classes, SMALL.max_seq_len
    for seed in range(2):
        torch.manual_seed(seed)
        model, path = randomise(trained.model, std=0.3), tmp_path / f"{seed}.onnx"
        with unchecked_shapes():
            onnx.write_transformer(model, path, vocab_size, width)
        assert onnx.largest_difference(model, path, vocab_size, n_classes, width) <= onnx.TOLERANCE
