"""Notifications of whole runs, to servers on this machine, and answers from GitHub."""
