"""Sandboxes around an agent: another program's (``commands``), or a box of bubblewrap (``box``).

What is hidden, readable and writable is data in ``places``; no agent is described here otherwise.
"""
