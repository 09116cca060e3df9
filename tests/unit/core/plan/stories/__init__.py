"""Plans of stories: reading them, the review cycle, and the verdict of the stop hook."""
