-- A response may be stopped through another host than the one that makes it.
ALTER TABLE responses ADD COLUMN stop_asked INTEGER NOT NULL DEFAULT 0;
