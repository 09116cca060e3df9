"""The client of the Agent Client Protocol: a process of its own between the engine and an agent.

The engine starts it as it starts any agent. It reads the prompt on stdin, starts the agent, speaks
the protocol, answers what the agent asks by policy, and prints what happens as JSON lines, which
``core.agent.decode.acp.decoder`` reads. It must never know the journal, the inbox or the loop.
"""
