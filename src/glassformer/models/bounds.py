"""How large a setting may be. What lies beyond is a slip of the finger, and is refused before anything is built."""

from typing import Annotated

from pydantic import Field

Width = Annotated[int, Field(ge=1, le=131_072)]
"""Of vectors and matrices, and heads in them. PaLM, the widest published model, has 18,432, and 73,728 in a block."""
MOST_BLOCKS = 1_000
Depth = Annotated[int, Field(ge=0, le=MOST_BLOCKS)]
"""Blocks. Each is an object of Python's, run one after another."""
Window = Annotated[int, Field(ge=2, le=2**20)]
"""In tokens. Tables of positions are this long, and attention compares every token with every other."""
VocabSize = Annotated[int, Field(ge=4, le=2**22)]
"""Four times that of XLM-V, which spells 100 languages. The library that learns it sets aside a place for each."""
Count = Annotated[int, Field(ge=1, le=10**9)]
"""Of steps, epochs, texts, tokens: a billion of them take years."""
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
"""scikit-learn, which splits the rows, takes 32 bits."""
LearningRate = Annotated[float, Field(gt=0, le=1_000)]
"""No published one is above 100."""
