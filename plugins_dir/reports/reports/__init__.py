"""Reports: a system application that keeps its own history of runs, and makes reports of it."""
