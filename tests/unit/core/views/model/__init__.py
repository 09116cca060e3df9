"""Words, history and control characters that the views share."""
