"""The number of cores changes nothing but the time."""

import os
import subprocess
import sys

LEARNED = """
import hashlib
import numpy as np
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
draw = np.random.default_rng(0)
words = ["".join(draw.choice(list("abcdefgh"), 2 + n % 6)) for n in range(400)]
texts = [" ".join(draw.choice(words, 9)) for _ in range(3_000)]
for kind in ("word", "character", "bpe", "wordpiece", "unigram"):
    tokenizer = TextTokenizer.train(texts, TokenizerConfig(kind=kind, vocab_size=500))
    found = hashlib.sha256(tokenizer.to_json().encode())
    found.update(np.concatenate(tokenizer.encode(texts)).tobytes())
    print(kind, found.hexdigest())
"""


def learned_on(cores: int) -> str:
    environment = os.environ | {"RAYON_NUM_THREADS": str(cores)}
    done = subprocess.run(
        [sys.executable, "-c", LEARNED], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def test_vocabularies_and_ids_are_the_same_on_any_number_of_cores() -> None:
    alone = learned_on(1)
    assert len(set(alone.split())) == 10
    assert learned_on(3) == alone
