"""BMAD: the stories of its sprint status are read and edited."""
