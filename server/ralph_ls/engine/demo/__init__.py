"""Demo: a small sample project, and a scripted agent that really repairs it.

``files`` is data; ``agent`` runs as a separate process and imports little.
"""

from __future__ import annotations
