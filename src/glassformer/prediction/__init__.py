"""A model folder and the answers it gives."""
