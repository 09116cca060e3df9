"""Decoder for ``codex exec --json``.

Event types and what is derived from one event are in ``records``; state that lasts over a
stream is in ``decoder``.
"""
