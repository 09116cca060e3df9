"""The stream of ``gemini -o stream-json``."""
