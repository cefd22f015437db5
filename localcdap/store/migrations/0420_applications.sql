-- The system applications that inspection found in a content: JSON list of ApplicationClass.
ALTER TABLE artifact_content ADD COLUMN applications VARCHAR DEFAULT '[]';
