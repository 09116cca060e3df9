"""Notifications as they are sent, and answers that come back: programs, addresses, issues.

What is worth one, when and in which words is decided in ``core.notify``. Nothing here ends, delays
or fails a run.
"""
