"""Requests and notifications of the whole language server."""
