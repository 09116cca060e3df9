"""Superpowers: plans whose tasks are headings are read and edited."""
