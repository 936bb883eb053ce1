"""Tables of labelled text: read, checked, split, and turned into batches of token ids."""
