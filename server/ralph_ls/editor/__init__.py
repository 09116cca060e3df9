"""Language server: editors see a run's events and documents over LSP and give commands.

It reads a run's files and starts engines as processes; it never imports the engine, and decides
nothing about a run.
"""
