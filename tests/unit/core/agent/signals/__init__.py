"""Signals in the final answer of an agent."""
