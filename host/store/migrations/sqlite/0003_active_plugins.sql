-- Which component serves, by what it serves: `connector postgres`, `model offline`. Of no workspace, like the plugins.
CREATE TABLE active_plugins (
    slot TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;
