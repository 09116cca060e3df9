"""Evidence of an iteration's work: progress, repetition, churn, and whose a changed file is.

It judges facts that are given. Inputs and effects of the loop build on it, so it imports
neither.
"""
