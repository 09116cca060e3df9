"""Frozen models that cross a process border: wire, journal, settings and schemas.

Imports nothing else of ours and does no input or output. A class name here is a wire name.
"""
