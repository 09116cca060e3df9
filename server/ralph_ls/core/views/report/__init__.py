"""Reports about finished work: metrics of runs, their tables, and the checks of `ralph doctor`.

Pure functions over events and facts; nothing here reads a file or probes the system.
"""
