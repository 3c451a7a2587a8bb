"""How it looks on the log: topics, keys, headers and Avro framing (pure)."""
