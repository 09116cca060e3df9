"""Task Master as a plan format."""
