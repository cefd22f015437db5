"""Connections that browse: the calls of their connectors, and the rows of the instance that these ask for."""
