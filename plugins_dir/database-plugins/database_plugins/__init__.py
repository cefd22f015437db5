"""Databases through JDBC drivers."""
