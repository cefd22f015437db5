"""The transform PDFExtractor."""
