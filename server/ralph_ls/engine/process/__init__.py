"""Processes: start, output, process trees, reapers and the engine's event loop.

Knows nothing of runs, agents or git.
"""
