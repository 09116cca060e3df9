"""Looking at all that a run needs, for ``ralph doctor``: nothing here changes or starts anything.

Programs that are asked are git, and ``bd`` where it keeps the plan; both only to look.
"""
