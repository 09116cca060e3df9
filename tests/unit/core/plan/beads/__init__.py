"""Plans that are kept in ``bd``."""
