"""Backlog.md: the documents of its tasks are read as one plan, and edited one at a time."""
