-- A row if there were pipelines, drafts or templates before stages wrote values as the texts of CDAP. The next host
-- has these keep their own texts, and empties the table.
CREATE TABLE former_texts AS
    SELECT 1 AS present
    WHERE EXISTS (SELECT 1 FROM applications)
        OR EXISTS (SELECT 1 FROM draft_revisions)
        OR EXISTS (SELECT 1 FROM plugin_templates);
