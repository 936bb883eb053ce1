"""Explanations: why a model gave an answer, and how far the explanation can be trusted."""
