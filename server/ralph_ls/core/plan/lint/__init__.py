"""Checks of a plan that parses: criteria, dependencies, states, and their quick fixes.

Severity and presentation of a remark belong in the views.
"""
