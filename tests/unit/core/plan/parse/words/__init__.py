"""Words and signs of plans: states, names of sections, languages."""
