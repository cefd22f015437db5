"""Sources and sinks of files and tables, scripts, aggregators, joins and error collection."""
