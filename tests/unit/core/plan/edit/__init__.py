"""Edits of plans and of the progress log."""
