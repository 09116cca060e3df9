"""Whole runs and launches with each kind of agent: command lines, protocols, failures, sessions."""
