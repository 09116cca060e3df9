"""Files and programs shared by an engine and its viewers: layout, journal, inbox, lock, trust.

The modules directly here are used by every other folder; no rule of the loop, and nothing of
the CLI or editor.
"""
