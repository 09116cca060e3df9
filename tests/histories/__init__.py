"""Journals of real runs, and how their inputs are found again in them."""
