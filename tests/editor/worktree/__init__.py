"""The threads that follow work trees: scheduling, reading, back-pressure."""
