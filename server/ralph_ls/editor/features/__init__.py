"""What an editor is shown and offered, one feature a module; none of them knows another.

Each has ``register(server, workspaces, documents, options)``. A feature asks ``documents`` for a
sight of a file, the core's views for words, and ``convert`` for LSP's form of them.
"""
