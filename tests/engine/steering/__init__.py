"""Steering of live and ended runs: commands, answers, halt files."""
