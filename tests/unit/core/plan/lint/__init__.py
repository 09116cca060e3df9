"""Checks of plans and their quick fixes."""
