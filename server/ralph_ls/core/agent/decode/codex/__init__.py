"""The stream of ``codex exec --json``."""
