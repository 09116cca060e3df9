"""Verbs of ralph and what only they need; verbs.py says which module holds which verb.

Each module is imported lazily by its verb, so none may be imported by main, verbs, context or
flags.
"""
