"""Two versions of a plan: what an agent may not have done, and what two writers both did."""
