"""Runs that the release before recorded."""
