"""Evaluation: the metrics of a classifier, their confidence intervals, and simple baselines on the same rows."""
