"""Redaction: known secrets and token shapes, taken out of text, bytes and streams.

It never learns where the environment or the bytes come from, and no secret is part of a
message.
"""
