"""Settings of a run: the models behind `.ralph/config.toml` and its schema.

Names, types and bounds, and the catalog of agents that settings can name; the values that a profile
fills in are in `core`, reading the file is in `store`.
"""
