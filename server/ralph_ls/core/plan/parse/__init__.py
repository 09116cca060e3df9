"""Plan parser: lines, headings, items, tables and blocks of Markdown become tasks.

Never rewrites text; checks of a plan that parses belong in lint.
"""
