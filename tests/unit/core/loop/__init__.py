"""The loop's decisions: played by script, by table and by chance, in a world that is only data."""
