"""Differences of plans: guard, merge, pairing of tasks."""
