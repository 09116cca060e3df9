"""Whole runs: how they start, what limits them, how they end and what they leave."""
