"""The on-disk contract between an engine and its viewers: journal, inbox, lock, logs, trust.

Everything that passes between the process that owns a run and those that look at it goes through
the files described here (SPEC §2, §4).
"""
