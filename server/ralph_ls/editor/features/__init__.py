"""LSP features, one a module: code actions, completions, lenses, hover, outline, task ids ….

Each offers register functions that the server calls; no feature imports another.
"""
