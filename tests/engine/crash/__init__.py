"""Crashes and failures of the machine: kills, clocks, locks, viewers, and recovery from them."""
