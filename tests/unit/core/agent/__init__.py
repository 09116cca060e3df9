"""Reading plain agent output: text, blocks, promises, errors, words, and all of it together."""
