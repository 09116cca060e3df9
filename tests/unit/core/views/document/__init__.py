"""Views of a document: diagnostics, lenses, hovers, completions."""
