"""Two versions of a plan: task pairing, text diff, three-way merge and the guard.

The guard reverts what an agent must not change; nothing here knows a format other than
Markdown.
"""
