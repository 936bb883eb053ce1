"""Kinds of answers: what the scores of readers mean."""
