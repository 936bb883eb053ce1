"""New words for a trained model: definitions become embeddings."""
