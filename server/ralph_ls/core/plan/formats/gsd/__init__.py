"""GSD: the phases and plans of ``ROADMAP.md``, read and edited.

What is common to formats of lines is in the room above.
"""
