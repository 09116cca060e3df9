"""Edits of a Markdown plan in place: each changes one thing and keeps every other byte.

An edit returns new text and is parsed again before it is accepted; no file access here.
"""
