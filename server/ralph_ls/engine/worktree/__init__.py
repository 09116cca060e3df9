"""Work tree of one run: shared workspace values, git lock files, user edits and the keeper.

Decisions belong in ``core``, deliveries in ``delivery``.
"""
