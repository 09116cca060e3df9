"""Effects: the only layer where things happen; processes, git, files and time.

Start reading in ``run.runner``. Only ``clock`` is directly in this folder; pure rules belong in
``core``.
"""
