"""Writers of Avro, formats of plugins and delimited text, which Spark does not write in CDAP's form."""
