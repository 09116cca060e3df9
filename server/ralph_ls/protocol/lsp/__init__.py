"""Requests and notifications `ralph/…` between an editor and the language server.

Their parameters, results and the panel; never LSP itself, nor how a message is framed or sent.
"""
