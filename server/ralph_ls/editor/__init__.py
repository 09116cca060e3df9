"""The face that editors see: the run's events as LSP, and a person's gestures as commands.

Only this package speaks LSP. It shows what the files of a run say and puts commands into the
inbox; it never decides anything about a loop, and a run never needs it.
"""
