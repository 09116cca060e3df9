"""The command line: ``ralph``. It shows and asks; it decides nothing about a run."""
