"""JSON lines of any program, by a mapping."""
