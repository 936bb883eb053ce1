"""The largest values of settings. Larger ones are typing errors, and are refused before anything is built."""

from typing import Annotated

from pydantic import Field

Width = Annotated[int, Field(ge=1, le=131_072)]
"""Width of vectors and matrices, or number of heads. PaLM, the widest published model, has the width 18,432, and 73,728
inside a block."""
MOST_BLOCKS = 1_000
Depth = Annotated[int, Field(ge=0, le=MOST_BLOCKS)]
"""Number of blocks. Each is a Python object, and they run one after another."""
Window = Annotated[int, Field(ge=2, le=2**20)]
"""Length of the window in tokens. Tables of positions are this long, and attention compares every pair of tokens."""
VocabSize = Annotated[int, Field(ge=4, le=2**22)]
"""Number of tokens, up to four times the vocabulary of XLM-V (100 languages). The library that learns the vocabulary
reserves memory for each token."""
MOST = 10**9
Count = Annotated[int, Field(ge=1, le=MOST)]
"""Number of steps, epochs, texts or tokens. A billion of them take years."""
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
"""scikit-learn splits the rows and accepts seeds of 32 bits."""
LearningRate = Annotated[float, Field(gt=0, le=1_000)]
"""No published learning rate is above 100."""
