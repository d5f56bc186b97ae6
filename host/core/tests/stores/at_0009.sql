-- A store as version 0009 of its tables left it: what upgrades have to find again. For SQLite; PostgreSQL gets the same
-- with its own form of bytes. One statement ends at the end of a line. The secret key is 32 bytes of 1.
INSERT INTO workspaces (id, name, created_at) VALUES ('ws-default', 'default', 1), ('ws-team', 'team', 2);
-- The texts are mh_earlier_operator, mh_earlier_user and mh_earlier_revoked.
INSERT INTO keys (id, workspace_id, name, prefix, hash, role, minds, compat, created_at, expires_at, revoked_at, last_used_at) VALUES
    ('key-operator', 'ws-default', 'first key', 'mh_earlier_o', x'2728f3ac4b8bf4a26ffbf46b69af7fd6597dbd940d25aa8ae27f6466097747c1', 'operator', NULL, NULL, 1, NULL, NULL, 5),
    ('key-user', 'ws-team', 'shop', 'mh_earlier_u', x'0ee9fac7945056d49cb9bda7c984d5fcb8dc658027e3a191802f3b22016cf7b6', 'user', '["mind-1"]', 'minds-sdk', 2, 9000000000000000, NULL, NULL),
    ('key-revoked', 'ws-team', 'old', 'mh_earlier_r', x'cf2d1320f1e6352c5fd5ce2386f4bc5e603b4e8343cf76a7ca0a574e263701f8', 'admin', NULL, NULL, 3, NULL, 4, NULL);
INSERT INTO host_facts (name, value) VALUES
    ('secret_key_check', x'070707070707070707070707070707070707070707070707264334d1c5759264b5f0d2f564dde0ea1dd3d08cb8adddde'),
    ('first_key', x'01');
INSERT INTO datasources (id, workspace_id, name, engine, description, connection_data, secrets, settings, created_at, modified_at) VALUES
    ('ds-shop', 'ws-team', 'shop', 'postgres', 'the shop', '{"host":"db","password":"********"}', x'07070707070707070707070707070707070707070707070730082ad4de69967f0fcc4f73d0edfa8db29ce9f83f010069c44fad4e6055d2faa9086fed2afb', '{}', 1, 1),
    ('ds-open', 'ws-team', 'open', 'sqlite', '', '{"path":"shop.db"}', NULL, '{}', 1, 1);
INSERT INTO providers (id, workspace_id, name, plugin, description, connection_data, secrets, is_default, created_at, modified_at) VALUES
    ('prov-vendor', 'ws-team', 'vendor', 'model-openai', '', '{"api_key":"********"}', x'07070707070707070707070707070707070707070707070730083bc5c4458a75048a576b81eea2d2e48400f5294c3d7ba1d85780112a600bfe82', 1, 1, 1);
INSERT INTO minds (id, workspace_id, name, provider_id, model_name, parameters, created_at, updated_at) VALUES
    ('mind-1', 'ws-team', 'clerk', 'prov-vendor', 'm', '{}', 1, 1);
INSERT INTO mind_datasources (workspace_id, mind_id, datasource_id, position, tables) VALUES
    ('ws-team', 'mind-1', 'ds-shop', 0, NULL);
INSERT INTO catalog_tables (id, workspace_id, datasource_id, schema_name, table_name, kind, source_description, description, description_source, row_count, row_count_known, status, error, missing, run_id, loaded_at) VALUES
    ('table-1', 'ws-team', 'ds-shop', 'public', 'item', 'table', NULL, NULL, 'none', 3, 1, 'loaded', NULL, 0, NULL, 1);
INSERT INTO conversations (id, workspace_id, key_id, mind_id, mind_name, metadata, created_at, deleted_at) VALUES
    ('conv-1', 'ws-team', 'key-user', 'mind-1', 'clerk', '{"city":"Zürich"}', 1, NULL),
    ('conv-2', 'ws-team', 'key-user', 'mind-gone', 'gone', '{}', 2, 3),
    ('conv-3', 'ws-default', 'key-operator', NULL, NULL, '{}', 2, NULL);
INSERT INTO responses (id, workspace_id, key_id, conversation_id, mind_id, mind_name, status, error, output, usage, metadata, previous_response_id, instructions, background, host_id, heartbeat_at, created_at, completed_at) VALUES
    ('resp-1', 'ws-team', 'key-user', 'conv-1', 'mind-1', 'clerk', 'completed', NULL, '[{"text":"3 Stück"}]', '{}', '{"a":"ü"}', NULL, 'be brief', 0, NULL, NULL, 1, 2),
    ('resp-2', 'ws-team', 'key-user', NULL, 'mind-1', 'clerk', 'failed', '{"code":"model_error"}', '[]', '{}', '{}', 'resp-1', NULL, 0, NULL, NULL, 2, 3);
INSERT INTO messages (id, workspace_id, conversation_id, response_id, position, kind, role, status, content, sql, sql_origin, datasource_id, created_at) VALUES
    ('msg-1', 'ws-team', 'conv-1', NULL, 0, 'message', 'user', 'completed', 'Wie viele Stühle?', NULL, NULL, NULL, 1),
    ('msg-2', 'ws-team', 'conv-1', 'resp-1', 1, 'message', 'assistant', 'completed', '3 Stück', 'SELECT count(*) FROM item', 'model', 'ds-shop', 2),
    ('msg-3', 'ws-team', 'conv-2', NULL, 0, 'message', 'user', 'completed', '', NULL, NULL, NULL, 3);
-- Two workspaces that were deleted, one that was refused to be, and one whose note is of something else.
INSERT INTO audit (id, workspace_id, key_id, action, resource, resource_id, detail, request_id, created_at, mind_id) VALUES
    ('audit-1', 'ws-default', 'key-operator', 'DELETE /workspaces/{name}', '/workspaces/Old', NULL, '204', 'r1', 1, NULL),
    ('audit-2', 'ws-default', 'key-operator', 'DELETE /workspaces/{name}', '/workspaces/team', NULL, '409', 'r2', 2, NULL),
    ('audit-3', 'ws-default', NULL, 'mindhost workspaces delete', '/workspaces/cli', NULL, 'done', NULL, 3, NULL),
    ('audit-4', 'ws-default', NULL, 'mindhost workspaces create', '/workspaces/made', NULL, 'done', NULL, 4, NULL),
    ('audit-5', 'ws-default', 'key-operator', 'DELETE /workspaces/{name}', '/workspaces/old', NULL, '204', 'r5', 5, NULL);
