"""Views of one open file: diagnostics, lenses, hover, completions, symbols, links, task ids.

Positions are line and character of the text; the editor converts them to LSP.
"""
