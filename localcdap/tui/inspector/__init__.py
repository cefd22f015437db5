"""What stands beside the canvas: the form of the selected stage, its schemas, its records, trials of it."""
