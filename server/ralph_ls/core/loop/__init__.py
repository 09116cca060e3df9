"""The loop decides: one state, one input, and what follows from them. Start in ``reducer``."""
