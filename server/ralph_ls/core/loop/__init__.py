"""The loop: its inputs, effects, state and profiles, and the fold from events to a run's state.

Start in ``machine.reducer``. Nothing here performs an effect or reads a file.
"""
