"""Pure values and functions, and the files that hold them: no process, no waiting."""
