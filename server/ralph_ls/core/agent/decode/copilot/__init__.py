"""Decoder for ``copilot --output-format json``, with its usage file.

Event types are in ``records``; state that lasts over a stream is in ``decoder``.
"""
