"""Fleet, as decisions: which tasks of several repositories may start, and when.

Databases, queues, git and workers are in ``engine.fleet``.
"""
