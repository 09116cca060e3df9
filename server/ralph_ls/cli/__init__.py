"""Command line: the programs ralph and ralph-ls, their verbs, flags and output.

It shows and asks; it decides nothing about a run. A verb's module is imported only when that
verb is called.
"""
