"""The full screen of ``ralph watch``: runs as tabs, drawn with Textual from the files of each run.

What is shown is decided in ``core/views``; what a key orders is in ``cli/show/key_actions.py``.
"""
