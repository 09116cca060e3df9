"""Verbs about lessons of earlier runs.

Belongs here: arguments and output of ``learn`` and ``lessons``. Not here: what a lesson is.
"""
