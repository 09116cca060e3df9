"""Decoder for ``claude -p --output-format stream-json --verbose``, and for ``qwen``, its variant.

Record types and what is derived from one record are in ``records``; state that lasts over a
stream is in the decoders.
"""
