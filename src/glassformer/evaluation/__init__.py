"""How good a classifier is, how sure that is, and what a simple baseline does on the same rows."""
