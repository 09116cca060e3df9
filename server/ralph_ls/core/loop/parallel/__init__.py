"""Parallel runs: which tasks may be worked on side by side, and what happens to their lanes.

A parallel run starts no agent. Its lanes are ordinary runs, each in a separate work tree for one
task; the parallel run opens them, merges what they finish, one at a time, and ends when nothing is
left (docs/rules.md#parallel-runs). ``reducer`` decides, ``schedule`` chooses the tasks;
``core.loop.lanes`` has its orders to the engine, and the answers.
"""
