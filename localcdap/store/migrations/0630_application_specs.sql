-- The specification of each version: JSON, with the plugins and schemas of the deployment. NULL for a version that
-- was deployed before specifications were kept.
ALTER TABLE applications ADD COLUMN spec VARCHAR;
