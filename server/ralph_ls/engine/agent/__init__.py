"""Agents: the catalog, the choice of one, its command line and environment.

Nothing here starts an agent; that is in ``iteration``.
"""
