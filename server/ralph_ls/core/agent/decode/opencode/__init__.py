"""The stream of ``opencode run --format json``."""
