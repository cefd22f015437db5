-- the number of alerts of each stage that emitted some: {"stage": 12}
ALTER TABLE runs ADD COLUMN stage_alerts VARCHAR;

UPDATE runs SET stage_alerts = (
    SELECT json_group_object(each.key, CAST(json_extract_string(each.value, '$.alerts') AS BIGINT))::VARCHAR
    FROM json_each(record, '$.stages') AS each
    WHERE json_extract_string(each.value, '$.alerts') IS NOT NULL
    HAVING count(*) > 0
);
