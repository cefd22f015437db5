"""Arguments of a run that a web service knows."""
