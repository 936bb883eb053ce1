"""A page and an API for trained classifiers, on this machine."""
