"""The stream of ``copilot --output-format json``."""
