"""Whole runs on the issues of ``bd``, which a fake one keeps (``tests/fakes/bd.py``)."""
