"""What runs inside the Python workers of Spark; nothing here imports pyspark."""
