"""Folders as released versions wrote them. They load for good: a folder here is never changed, only added."""
