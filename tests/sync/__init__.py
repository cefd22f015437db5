"""Tests of the synchronization of namespaces with folders."""
