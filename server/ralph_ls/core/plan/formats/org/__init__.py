"""Org: headings with a keyword, and boxes, of Emacs' outlines, read and edited.

What is common to formats of lines is in the room above.
"""
