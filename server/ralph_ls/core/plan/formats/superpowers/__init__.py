"""Superpowers: plans whose tasks are headings and whose boxes are their steps.

What is common to formats of lines is in the room above.
"""
