"""Evidence from git: reads of a work tree, its history and its changes.

Nothing here writes to a repository; commits and pushes are in ``delivery``.
"""
