"""Replay of traces, journals and recorded histories."""
