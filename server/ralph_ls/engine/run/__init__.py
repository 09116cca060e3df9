"""Run: preparation, recovery, and the loop of inputs and effects.

The work of a single iteration is in ``iteration``.
"""
