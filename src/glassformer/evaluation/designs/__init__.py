"""The parts of a comparison of designs. Start at `evaluation/compare_designs.py`."""
