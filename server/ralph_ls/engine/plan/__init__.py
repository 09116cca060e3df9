"""Plan sources: markdown, stories, issues of ``bd`` or a request, each behind one interface.

Reads and writes plans; which task is next is decided in ``core``.
"""
