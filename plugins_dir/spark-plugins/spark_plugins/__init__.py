"""Trainers and predictors of CDAP's spark-plugins, and features of texts."""
