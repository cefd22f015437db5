-- The dataset types that inspection found in a content: JSON list of DatasetTypeClass.
ALTER TABLE artifact_content ADD COLUMN dataset_types VARCHAR DEFAULT '[]';
-- The content of an artifact that may take dataset types from other modules.
ALTER TABLE artifact ADD COLUMN forced_digest VARCHAR DEFAULT '';
