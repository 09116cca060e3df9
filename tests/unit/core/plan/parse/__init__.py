"""Parsing of markdown plans."""
