"""The audit: which personal data a model folder holds, and what can be told from its answers."""
