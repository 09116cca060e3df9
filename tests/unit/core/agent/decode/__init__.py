"""Streams of agents, decoded."""
