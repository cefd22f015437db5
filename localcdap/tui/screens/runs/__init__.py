"""What ran and what is running: the history of a namespace, one run, its log, running again."""
