"""The rules of the loop: breaker, gate, attempts, budgets and others."""
