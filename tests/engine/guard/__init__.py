"""The guard and the ownership of commits, in real repositories."""
