"""Decoder for ``gemini -o stream-json``.

Record types, failures and tool names are in ``records``; state that lasts over a stream is in
``decoder``.
"""
