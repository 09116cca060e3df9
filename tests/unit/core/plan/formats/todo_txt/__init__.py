"""todo.txt: its lines are read and edited."""
