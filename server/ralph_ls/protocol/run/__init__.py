"""A run on disk: events, commands, agent messages and the state folded from events.

Nothing about an editor, and no rule of the loop.
"""
