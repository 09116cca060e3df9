"""Prompts of agents: templates, filled from the plan, answers, recommendations and notes.

The built-in texts are in ``wording/``; nothing here reads them or any other file.
"""
