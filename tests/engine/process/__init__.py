"""Process trees with real processes: how they end, and how orphans are found."""
