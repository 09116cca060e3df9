"""Sandbox: a box of bubblewrap around an agent, its home folder and its git directory.

Another program's sandbox is a part of an agent's command line: ``agent.environment``.
"""
