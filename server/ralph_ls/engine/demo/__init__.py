"""The demo: a small sample project, and a scripted agent that really repairs it (SPEC §10).

Nothing here knows the loop: the engine meets this agent as it meets any other, as a process that
gets a prompt on its stdin. The package stays quick to import, because every iteration starts it
anew.
"""

from __future__ import annotations
