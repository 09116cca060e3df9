"""Plans as values: parsed from text, queried, edited, checked and compared.

Pure functions over text and values; file access and the authorship of changes belong to the store
and the engine.
"""
