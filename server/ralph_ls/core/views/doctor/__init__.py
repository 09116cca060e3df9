"""What ``ralph doctor`` says of what was found; nothing here looks itself."""
