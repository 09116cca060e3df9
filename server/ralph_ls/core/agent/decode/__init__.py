"""Stream decoders: from the bytes an agent prints to messages for viewers and one result.

One folder or module a dialect, chosen in ``dialects``. Dialects never import each other; shared
code is in ``common``.
"""
