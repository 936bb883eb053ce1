"""Ways of reading: each gives every text a score for every output of a target."""
