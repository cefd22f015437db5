"""What runs inside the Python workers of Spark; nothing here loads pyspark, which the workers have loaded."""
