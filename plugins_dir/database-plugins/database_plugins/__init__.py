"""Sources, sinks and actions of databases, with JDBC drivers."""
