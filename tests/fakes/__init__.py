"""Fakes for what the tests cannot have: each is held against the real thing by a test."""
