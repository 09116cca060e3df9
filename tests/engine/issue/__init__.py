"""Whole runs of the profile ``issue``, which work on a request."""
