"""The reducer and its parts: they turn one input into events and effects.

What can be decided without a step draft or a settled iteration belongs in ``rules``.
"""
