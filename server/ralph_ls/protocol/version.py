"""The version of what is written and sent; a separate module, since it is sent before any model.

An editor waits for the answer to ``initialize``, which names it.
"""

from __future__ import annotations

SCHEMA_VERSION = 1
"""``v`` of every event, and what clients and servers compare; a breaking change raises it."""
