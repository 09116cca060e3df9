"""Delivery: the engine's writes to git; commit, push, rollback and restoration commits.

Reads alone belong in ``git``.
"""
