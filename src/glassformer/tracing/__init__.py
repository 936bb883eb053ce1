"""The trace of an answer: every matrix between a text and its probabilities, with the step that computes it."""
