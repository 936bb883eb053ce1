"""Side-by-side runs whose results are committed: one file for each question, run as `python -m benchmarks.NAME`."""
