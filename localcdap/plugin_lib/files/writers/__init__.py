"""Writers of Avro and delimited text, which Spark does not write in CDAP's form."""
