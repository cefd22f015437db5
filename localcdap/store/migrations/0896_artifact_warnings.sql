-- The warnings that inspection gave for a content: JSON list of texts.
ALTER TABLE artifact_content ADD COLUMN warnings VARCHAR DEFAULT '[]';
