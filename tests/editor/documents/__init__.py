"""Documents of the server: open texts, limits, conflicts of edits."""
