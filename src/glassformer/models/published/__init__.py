"""Designs of others, as published, one per file. Defects are kept; each file names what had to be repaired."""
