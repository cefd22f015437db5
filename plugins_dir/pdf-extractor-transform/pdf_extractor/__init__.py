"""The PDFExtractor transform."""
