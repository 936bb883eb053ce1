"""Explanations: why a model gave an answer, and how far that reason can be trusted."""
