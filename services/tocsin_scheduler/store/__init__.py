"""The local store under the core: RocksDB for a service, memory for tests."""
