"""Evidence for closing: what is to be run for a task, and what its plan says then."""
