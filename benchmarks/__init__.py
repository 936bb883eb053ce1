"""Measurements whose results are committed: one file for each question, run as `python -m benchmarks.NAME`."""

from glassformer.cli.waiting import wait_briefly

wait_briefly()  # OpenMP reads it when torch is imported, so this stands before all imports of the benchmarks
