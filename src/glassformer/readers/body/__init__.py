"""The body: vectors of words, learned from texts without labels, and the reader that averages them."""
