"""Files of a run: journal, inbox, lock, logs."""
