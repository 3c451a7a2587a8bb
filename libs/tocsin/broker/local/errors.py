"""What can go wrong with a local Kafka; every message is one sentence for the person at the
terminal."""


class LocalBrokerError(Exception):
    """The local Kafka cannot be started or has ended by itself."""


class NothingToRun(LocalBrokerError):
    """This machine has neither Docker nor Java with Maven, and no broker was named."""


class Unusable(Exception):
    """This way to run Kafka is not open on this machine; the message is a short reason."""
