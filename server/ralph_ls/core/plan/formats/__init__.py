"""Plan formats besides Markdown, and the dispatch by plan kind.

A format may use every other room of the plan; only the dispatch knows all formats.
"""
