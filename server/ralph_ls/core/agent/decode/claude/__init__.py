"""The stream of ``claude -p --output-format stream-json --verbose``."""
