"""Decoder for the Agent Client Protocol, as our client (``engine``'s ACP client) logs it.

Message fields, tool calls, usage and failures are in ``records``; the state of a turn is in
``decoder``. No client code.
"""
