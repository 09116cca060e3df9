"""Runs without an engine: the reducer driven by a trace, a journal or a preview.

Nothing here decides by itself, and the loop never imports it.
"""
