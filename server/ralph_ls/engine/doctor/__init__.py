"""Doctor: examines all that a run needs.

Nothing here changes anything or starts an agent.
"""
