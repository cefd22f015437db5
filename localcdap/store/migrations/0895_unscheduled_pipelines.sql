-- Pipelines that were deployed before there were schedules. The next host makes those that their documents ask
-- for, and empties the table.
CREATE TABLE unscheduled_pipelines AS
    SELECT DISTINCT namespace, name FROM applications a WHERE NOT EXISTS (
        SELECT 1 FROM schedules s WHERE s.namespace = a.namespace AND s.application = a.name);
