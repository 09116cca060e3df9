"""Verbs about runs and their iterations: this repository's history, and all runs of the user.

They read the files of runs. Orders to a run are in ``steer``.
"""
