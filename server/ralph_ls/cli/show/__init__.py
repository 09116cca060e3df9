"""Renderers of a run on standard output: live panel, plain lines, JSON.

They only display events and state; verbs and their flags belong in commands.
"""
