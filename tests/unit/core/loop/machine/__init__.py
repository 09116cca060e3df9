"""The reducer: transitions, run flow, close of an iteration, steering."""
