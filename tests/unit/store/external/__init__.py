"""Programs outside: git, ``gh``, ``bd``."""
