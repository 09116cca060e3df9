"""Requests and commands beyond LSP: ralph/start, ralph/setup, workspace/executeCommand ….

One function a request, imported when first called; rules of the loop stay in store and core.
"""
