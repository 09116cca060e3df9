"""Run, watch and steer an autonomous coding loop from an editor or a terminal."""

from __future__ import annotations

__version__ = "0.1.0"
