"""Runs on the issues of a label or milestone on GitHub."""
