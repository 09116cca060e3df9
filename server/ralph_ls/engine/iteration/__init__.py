"""Iteration: health check, launch, agent output, evidence, validation, for one start of an agent.

What spans iterations, such as start and recovery, is in ``run``.
"""
