"""Run the systems of the source documents again: as printed, corrected, and beside our default."""
