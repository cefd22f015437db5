"""Files and workbooks: sources, the sink, actions."""
