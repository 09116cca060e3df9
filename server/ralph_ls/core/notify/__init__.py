"""Notifications: which events of a run reach the user, when, in which words, and who may answer.

Nothing here sends anything or reads a clock: ``engine.notify`` does both.
"""
