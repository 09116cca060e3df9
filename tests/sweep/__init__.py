"""Robustness campaign: random kills, hostile input and long runs against the real program.

``python -m tests.sweep`` (``make sweep``) is the entry point. Each scenario module contributes
cases; ``invariants`` says in one place what must hold after every case, whatever was done to it.
Nothing here knows how the engine keeps its promises.
"""
