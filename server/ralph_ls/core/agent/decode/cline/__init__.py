"""The stream of ``cline --json``."""
