"""Run all of them with ``python3 -m unittest``."""
