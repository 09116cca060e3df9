"""Parallel runs in the world: lanes as work trees and processes, and the branch they merge into.

``effect_runner`` performs the orders of ``core.loop.parallel``: ``lane_worktree`` makes and removes
work trees, ``lane_starter`` starts the runs in them, ``rebase`` brings their commits onto the
branch, ``merge_branch`` moves it (docs/rules.md#parallel-runs).
"""
