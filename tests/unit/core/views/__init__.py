"""What people are shown of a run, in words, without a terminal."""
