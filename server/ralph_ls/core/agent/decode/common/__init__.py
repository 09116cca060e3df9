"""Shared parts of all decoders: line splitting, JSON records, tool call summaries, base class.

Nothing here may know a dialect's record types or the names of its tools.
"""
