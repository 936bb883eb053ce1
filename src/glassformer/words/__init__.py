"""Teach a trained model new words: make their embeddings from their definitions."""
