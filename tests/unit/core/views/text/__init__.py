"""Lines of text for terminals and logs."""
