"""Plans as values: parsed from text, queried, edited, checked and compared.

Pure functions over text and values; reading files, and knowing who changed them, belongs to the
store and the engine.
"""
