"""The on-disk contract between engine and viewers: real files, and real processes for the lock."""
