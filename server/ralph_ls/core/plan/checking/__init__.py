"""What is wrong with what a plan says, although all of it can be read; and its repairs."""
