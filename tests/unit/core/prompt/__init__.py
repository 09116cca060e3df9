"""Prompts for agents, and that no part of one is ever taken for what an agent says."""
