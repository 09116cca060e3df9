"""Parallel runs: the schedule, the reducer, and whole runs under a simulated engine."""
