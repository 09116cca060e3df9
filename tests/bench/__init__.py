"""Measurements, by hand: ``python -m tests.bench`` runs all, with names only those. Never tests."""
