"""The only importer of the Kafka client: consumers, transactions, admin, error kinds."""
