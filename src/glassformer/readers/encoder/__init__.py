"""The encoder reader: a linear head on the vectors that a pre-trained encoder of others makes of texts."""
