"""Plans that are kept by ``bd``: issues, their dependencies, and what may become of them."""
