"""Programs of others: supervisor, program lookup, git, gh and bd.

Runs them with a time limit and returns their answers; knows nothing of runs or settings.
"""
