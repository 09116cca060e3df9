"""The kinds of plan that a run can work on, each behind the same few operations (SPEC §8)."""
