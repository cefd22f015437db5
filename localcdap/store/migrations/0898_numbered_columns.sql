-- Pipelines and drafts of versions that numbered the columns of delimited files from 1. The next host notes that in
-- their sources, and empties the tables.
CREATE TABLE unnumbered_applications AS
    SELECT namespace, name, number FROM applications WHERE contains(document, 'batchsource');
CREATE TABLE unnumbered_drafts AS
    SELECT namespace, generation, owner, id, revision FROM draft_revisions WHERE contains(pipeline, 'batchsource');
