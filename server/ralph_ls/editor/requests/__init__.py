"""What a client may ask beyond LSP: ``ralph/…``, one function for each request.

Each takes the open work trees and the typed params, and gives the typed result or raises. None of
them decides anything about a loop: orders go to its engine, or start one.
"""
