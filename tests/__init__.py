"""The tests: one package, so that a helper is imported by its full name from anywhere in it."""
