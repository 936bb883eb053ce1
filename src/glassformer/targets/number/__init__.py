"""The target of a number."""
