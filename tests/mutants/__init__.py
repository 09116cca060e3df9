"""Mutation testing of the rules that decide about a run: ``make mutants``."""
