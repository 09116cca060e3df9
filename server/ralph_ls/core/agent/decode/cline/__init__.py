"""Decoder for ``cline --json``.

Record types and tool names are in ``records``; state that lasts over a stream is in
``decoder``.
"""
