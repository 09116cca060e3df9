"""Commits, pushes and rollbacks of the loop, in real repositories."""
