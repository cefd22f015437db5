"""Trainers and predictors of CDAP's spark-plugins, features of texts, and the computation DataCacher."""
