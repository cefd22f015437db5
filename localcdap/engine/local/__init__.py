"""The local Spark server of an instance: started on first need, shared, supervised, stopped when idle."""
