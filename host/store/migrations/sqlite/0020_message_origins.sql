-- Of an answer, as JSON: the ids of the datasources that it was read in, and the words of it that were read elsewhere.
-- Null is not known: messages of callers, and older answers.
ALTER TABLE messages ADD COLUMN read_from TEXT;
