"""Files and process of one run: journal, inbox, engine lock, logs, launch and steering.

Reads and writes what a run owns; settings and plans of the project are in `project`.
"""
