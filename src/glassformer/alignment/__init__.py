"""From a language model to one that answers as people prefer: the functions that its training loops share."""
