"""Client of the Agent Client Protocol: a separate process between the engine and an agent.

Run as ``python -I -m ralph_ls.engine.agent.acp``; it imports as little as possible at its
start.
"""
