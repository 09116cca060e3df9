"""The sample project and its scripted agent, with real git and the real process."""

from __future__ import annotations
