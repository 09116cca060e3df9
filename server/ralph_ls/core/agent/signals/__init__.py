"""Signals in the final text: status block, promise tags, completion and clarification phrases.

Reads plain text only. Never imports a decoder; which signal wins is decided by the exit gate in
``core.loop``.
"""
