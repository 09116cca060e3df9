"""Task Master: its task file is read, and edited in place."""
