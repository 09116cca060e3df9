"""Circuit breaker, exit gate, budgets, attempts and other policies: pure rules of the loop.

A rule takes state and returns a decision, an order or words; nothing here emits events.
"""
