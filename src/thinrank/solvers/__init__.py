"""The solvers, the one loop that drives them, and their step rules."""
