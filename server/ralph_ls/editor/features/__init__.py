"""LSP features, one a module: code actions, completions, lenses, hover, outline, task ids ….

Each offers register functions, which the server calls with a ``FeatureContext``; no feature imports
another.
"""
