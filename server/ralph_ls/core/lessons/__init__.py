"""Lessons: what runs have taught, as files, and which of them a prompt takes.

Belongs here: reading, matching, distilling and judging lessons. Not here: where they are stored,
and who may accept them.
"""
