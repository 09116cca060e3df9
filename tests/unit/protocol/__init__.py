"""The vocabulary: what is read, what is refused, and that every model has its golden file."""
