"""The systems of the source documents, run again: as printed, done right, and beside our default."""
