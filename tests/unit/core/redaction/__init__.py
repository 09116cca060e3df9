"""Redaction of secrets."""
