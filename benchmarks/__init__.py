"""Measurements whose results are committed: one file for each question, run as `python -m benchmarks.NAME`."""

import os

# As `glassformer` does at its start: threads that spin while they wait spoil every speed that is measured on a machine
# with other work. OpenMP reads this when torch is imported, so it stands before all imports of the benchmarks.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
