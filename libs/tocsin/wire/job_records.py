"""Records of the jobs topic: bytes and headers -> what the fold judges."""

from tocsin.model.fold import JobRecord
from tocsin.model.keys import JobKey
from tocsin.wire.commands import InvalidCommand, decode_job_command
from tocsin.wire.headers import HeaderError, Headers, read_condition, read_restates
from tocsin.wire.partitions import partition_of


def read_job_record(
    key: JobKey,
    value: bytes | None,
    headers: Headers,
    offset: int,
    timestamp: int,
    *,
    partition: int,
    partitions: int,
) -> JobRecord:
    """Never raises: what cannot be read is a record with a `problem`, void in the fold.

    A definition in a partition that is not its key's is such a problem too: two partitions with
    one key would be two jobs of one name. A tombstone there is welcome.
    """
    belongs = partition_of(str(key).encode(), partitions)
    if belongs != partition and value is not None:
        problem = (
            f"the key belongs to partition {belongs}, not {partition}; "
            "produce with partitioner=murmur2_random, the default of Java clients"
        )
        return JobRecord(offset=offset, timestamp=timestamp, problem=problem)
    try:
        restates = read_restates(headers)
    except HeaderError as error:
        return JobRecord(offset=offset, timestamp=timestamp, problem=str(error))
    try:
        condition = read_condition(headers)
        job = None if value is None else decode_job_command(key, value)
    except (HeaderError, InvalidCommand) as error:
        return JobRecord(offset=offset, timestamp=timestamp, problem=str(error), restates=restates)
    return JobRecord(
        offset=offset,
        timestamp=timestamp,
        job=job,
        condition=condition,
        restates=restates,
        canonical=value is None or not value.startswith(b"{"),
    )
